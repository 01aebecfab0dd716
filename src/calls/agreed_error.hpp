// An error that every rank knows of.
#pragma once

#include <dsop/errors.hpp>

namespace dsop {

/// Thrown after an agreement, so by all ranks with the same text: a program may say it once and end in peace.
class AgreedError final : public ArgumentError {
  using ArgumentError::ArgumentError;
};

}  // namespace dsop
