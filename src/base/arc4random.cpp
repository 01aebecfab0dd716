// For wheels: Debian 12's libstdc++.a takes this function from glibc 2.36, which older systems lack.
#include <sys/random.h>

extern "C" unsigned arc4random() {
  unsigned bits = 0;
  while (getrandom(&bits, sizeof bits, 0) != sizeof bits) {
  }
  return bits;
}
