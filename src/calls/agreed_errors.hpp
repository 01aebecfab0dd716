// Errors that all ranks throw, with the same text.
#pragma once

#include <string>

#include <dsop/errors.hpp>
#include <dsop/transport.hpp>

namespace dsop {

/// Thrown after an agreement, so by all ranks with the same text: a program may say it once and end in peace.
class AgreedError final : public ArgumentError {
  using ArgumentError::ArgumentError;
};

/// Throws AgreedError with the texts of all ranks; one that has found nothing gives "". All ranks must call it.
[[noreturn]] void throw_all_errors(Transport& transport, const std::string& own_error);

/// Throws AgreedError on every rank if `own_error` is not empty on some rank; costs an exchange of a byte.
void agree_on_errors(Transport& transport, const std::string& own_error);

/// Throws AgreedError naming what differs, each value and who has it. `own_values`: a line each, its name, a tabulator
/// and its value; what stands behind "the operation" is compared only where that is the same on all ranks. All ranks
/// must call it.
[[noreturn]] void throw_disagreement(Transport& transport, const std::string& own_values);

}  // namespace dsop
