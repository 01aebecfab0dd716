// Debian's libgloo-dev lacks this header, which headers that it has include: what their classes need of it, to be as
// large as in the library, where all functions are.
#pragma once

#include <memory>

namespace gloo {

template <class T>
class ShareableNonOwningPtr;

template <class T>
class WeakNonOwningPtr final {
 public:
  WeakNonOwningPtr() = default;
  explicit WeakNonOwningPtr(const ShareableNonOwningPtr<T>& pointer);

 private:
  std::weak_ptr<T> pointer_;
};

template <class T>
class NonOwningPtr final {
  std::shared_ptr<T> pointer_;
};

template <class T>
class ShareableNonOwningPtr final {
 public:
  explicit ShareableNonOwningPtr(T* object);
  ShareableNonOwningPtr(const ShareableNonOwningPtr&) = delete;
  ~ShareableNonOwningPtr();

 private:
  std::shared_ptr<T> pointer_;
};

}  // namespace gloo
