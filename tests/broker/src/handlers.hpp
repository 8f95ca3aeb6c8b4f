// Which request does what. This is the file that changes from merge to merge.
#pragma once
#include <memory>

#include "http.hpp"

namespace broker {

class Store;
class Next;

// `next` is the following broker of a chain, or null. Both must outlive the handler.
std::unique_ptr<Handler> make_handlers(Store& store, Next* next);

}  // namespace broker
