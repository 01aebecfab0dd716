"""The parts of scripts/calls: two builds -> runs by turns -> rows -> tables. The program that it runs is in the .cpp files."""
