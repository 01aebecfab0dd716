// Errors that all ranks throw, with the same text.
#pragma once

#include <string>

#include <dsop/errors.hpp>
#include <dsop/transport.hpp>

namespace dsop {

/// All ranks throw it, with the same text, after an agreement. So a program may print it on one rank alone.
class AgreedError final : public ArgumentError {
  using ArgumentError::ArgumentError;
};

/// Throws AgreedError with the texts of all ranks; one that has found nothing gives "". All ranks must call it.
[[noreturn]] void throw_all_errors(Transport& transport, const std::string& own_error);

/// Throws AgreedError on every rank if `own_error` is not empty on some rank; costs an exchange of a byte.
void agree_on_errors(Transport& transport, const std::string& own_error);

/// Throws AgreedError that names what differs, each value, and the ranks that have it. `own_values` has a line for each
/// value: name, tabulator, value. Values after "the operation" are compared only if all ranks make the same operation.
/// All ranks must call it.
[[noreturn]] void throw_disagreement(Transport& transport, const std::string& own_values);

}  // namespace dsop
