// What the library throws. It never prints and never ends the program.
#pragma once

#include <stdexcept>

namespace dsop {

/// Base of all of the library's own exceptions.
class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A call that makes no sense: an argument is wrong on some rank, or the ranks disagree. Every rank of the
/// communicator throws it with the same text, so nobody is left waiting and the communicator can be used again. What
/// does not communicate (plans, selections, machine descriptions, a state's text) throws it by itself.
class ArgumentError : public Error {
  using Error::Error;
};

/// Communication failed, for example because another rank has ended. The communicator is of no more use: on this rank
/// every later call on it throws TransportError, with the text of the first.
class TransportError : public Error {
  using Error::Error;
};

}  // namespace dsop
