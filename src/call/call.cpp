#include "call/call.hpp"

#include <cstring>

#include "kernels/outer_product.hpp"
#include "kernels/threads.hpp"
#include "patterns/bruck_allgather.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop {

namespace {

constexpr const char* name_of_machine = "machine";

}  // namespace

Call::Call(Transport& transport, const char* operation, std::size_t rows, std::size_t columns, DataType type,
           std::uint64_t object)
    : communicator_(attachment<CommunicatorState>(transport)),
      transport_(communicator_.trace ? traced(transport, operation) : transport),
      within_call_(transport, operation, rows, columns, type),
      type_(type),
      object_(object),
      values_(communicator_.values, communicator_.key),
      machine_(&communicator_.own_machine.unprobed()) {
  CallState& calls = transport.calls();
  if (!communicator_.environment_error.empty()) check([&] { throw ArgumentError(communicator_.environment_error); });
  const std::uint64_t number = calls.calls++;
  same_unplanned<std::string_view>("the parameter", calls.parameter);
  same_unplanned("the number of calls before this one", number);
  same<std::string_view>("the operation", operation);
  same_unplanned("the object whose call it is (0: none, i: made by call i)", object);
  same("data type", type);
  own_.threads = kernels::thread_count() & 0xffff;
  own_.on_progress_thread = calls.queue->is_progress_thread;
  own_.asks_for_facts = !communicator_.ranks.known;
  if (communicator_.last_wait_seconds > 0) own_.take_last_wait(communicator_.last_wait_seconds);
}

Transport& Call::traced(Transport& transport, const char* operation) {
  const std::string& parameter = transport.calls().parameter;
  try {
    return traced_.emplace(transport, *communicator_.trace, (parameter.empty() ? "" : parameter + ": ") + operation);
  } catch (const std::bad_alloc&) {  // this call is not in the trace
    return transport;
  }
}

Call::~Call() {
  if (agreed_) communicator_.slot_lengths.learn(key_digest(), expected_piggyback_bytes_, transport_.size());
}

Call& Call::same_machine(const std::optional<Machine>& given, bool chooses) {
  if (given) {
    DescribedMachine& described = communicator_.given_machine;
    if (described.numbers().empty() || !(described.machine() == *given))
      check([&] {
        DescribedMachine now;
        now.describe(*given);
        described = std::move(now);
      });
    machine_ = &described;
  } else {
    MachineSource& own = communicator_.own_machine;
    asks_environment_ = !own.is_agreed();
    if (asks_environment_) check([&] { own.ask_environment(); });
    machine_ = chooses ? own.to_choose_by() : &own.unprobed();
  }
  if (machine_ != nullptr)
    check([&] { values_.say(name_of_machine, *machine_); });
  else
    same_unplanned<std::string_view>(name_of_machine, "to be measured");
  if (asks_environment_) same_unplanned<std::string_view>("DSOP_MACHINE", communicator_.own_machine.requested());
  return *this;
}

std::span<std::byte> Call::piggyback(std::size_t bytes) {
  if (!error_.empty() || sizeof(Record) + bytes > communicator_.slot_lengths.bytes()) return {};
  own_.piggybacks = 1;
  return std::span(communicator_.slots).subspan(sizeof(Record), bytes);
}

void Call::agree() {
  CommunicatorState& state = communicator_;
  const int P = transport_.size();
  slot_bytes_ = state.slot_lengths.bytes();
  check([&] { state.key.reserve(state.key.size() + static_cast<std::size_t>(P) * Record().numbers().size()); });
  own_.digest = values_.digest();
  own_.failed = !error_.empty();
  std::memcpy(state.slots.data(), &own_, sizeof(Record));
  const Clock::time_point start = Clock::now();
  {
    const TracedSpan agreeing = span("agree");
    patterns::bruck_rounds(transport_, std::span(state.slots).first(static_cast<std::size_t>(P) * slot_bytes_),
                           slot_bytes_, Tag::agreement);
  }
  agreed_at_ = Clock::now();
  state.last_wait_seconds = std::chrono::duration<double>(agreed_at_ - start).count();
  for (int i = 0, q = transport_.rank(); i < P; ++i, q = q + 1 < P ? q + 1 : 0)
    std::memcpy(&state.records[static_cast<std::size_t>(q)],
                state.slots.data() + static_cast<std::size_t>(i) * slot_bytes_, sizeof(Record));

  if (any([](const Record& record) { return record.asks_for_facts != 0; }))
    exchange_capabilities(transport_, state.ranks, state.trace != nullptr);
  if (any([&](const Record& record) { return record.failed != 0 || record.digest != own_.digest; })) throw_error();
  state.log.take_waits(records());
  all_piggyback_ = !any([](const Record& record) { return record.piggybacks == 0; });
  if (asks_environment_) state.own_machine.agree();
  if (machine_ == nullptr) measure_machine();
  transport_.use_pieces_of(machine_of_pieces());
  agreed_ = true;
}

// A call that names its algorithm plans for another machine than the measured one, but its messages travel on that.
const Machine& Call::machine_of_pieces() const {
  const bool is_given = machine_ == &communicator_.given_machine;
  const DescribedMachine* const own = communicator_.own_machine.to_choose_by();
  return (is_given || own == nullptr ? machine_ : own)->machine();
}

void Call::measure_machine() {
  MachineSource& own = communicator_.own_machine;
  try {
    own.measure(transport_, communicator_.ranks.group.nodes);
  } catch (...) {
    communicator_.slot_lengths.forget();
    throw;
  }
  machine_ = own.to_choose_by();
  values_.say(name_of_machine, *machine_);
}

void Call::throw_error() {
  communicator_.slot_lengths.forget();
  // Ranks that disagree about the number of calls agree again from the next on.
  transport_.calls().calls = patterns::largest_of_all_ranks(transport_, transport_.calls().calls);
  if (any([](const Record& record) { return record.failed != 0; })) throw_all_errors(transport_, error_);
  throw_disagreement(transport_, values_.text());
}

std::span<const std::byte> Call::piggybacked(int rank) const {
  const int P = transport_.size();
  const auto place = static_cast<std::size_t>((rank - transport_.rank() + P) % P);
  return std::span(communicator_.slots).subspan(place * slot_bytes_ + sizeof(Record), slot_bytes_ - sizeof(Record));
}

ProductMethod Call::shared_method() const {
  const auto threads = records()[0].threads;
  return {.instructions = ranks().least_instructions,
          .blas_allowed = ranks().same_blas && !any([&](const Record& record) {
                            return record.threads != threads || record.large_stride != 0;
                          })};
}

std::uint64_t Call::add_numbers_to_key() {
  SequenceDigest digest = values_.plan_digest();
  key_length_ = communicator_.key.size();
  for (const Record& record : records())
    for (const std::uint64_t number : record.numbers()) {
      communicator_.key.push_back(number);
      digest.take(number);
    }
  return digest.value();
}

PredictedCall Call::as_known(PredictedCall predicted) const {
  if (transport_.is_probed() && machine() == transport_.default_machine()) predicted.seconds = 0;
  return predicted;
}

void Call::log_run(std::size_t& row, const std::string& algorithm, const PredictedCall& predicted,
                   Clock::time_point start) const noexcept {
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const CallState& calls = transport_.calls();
  try {
    if (row >= log().rows().size() || log().rows()[row].parameter != calls.parameter)
      row = log().row_of(
          {.parameter = calls.parameter, .operation = calls.watched.text(), .object = object_, .algorithm = algorithm});
    log().take(row, seconds, communicator_.last_wait_seconds, predicted);
  } catch (const std::bad_alloc&) {
  }
}

PackMemory Call::pack_memory() const {
  SequenceDigest threads;
  SequenceDigest on_progress_thread;
  for (const Record& record : records()) {
    threads.take(record.threads);
    on_progress_thread.take(record.on_progress_thread);
  }
  return {threads.value(), on_progress_thread.value(), type_};
}

void Call::grow(std::size_t bytes, bool packs) {
  communicator_.grow_arena(bytes);
  communicator_.arena_bytes = std::max(communicator_.arena_bytes, bytes);
  if (!packs) return;
  visit(type_, [&]<class T>(T) { kernels::reserve_product<T>(); });
  const PackMemory now = pack_memory();
  std::erase_if(communicator_.pack_memory, [&](const PackMemory& before) { return before.same_kind(now); });
  communicator_.pack_memory.push_back(now);
}

bool Call::has_pack_memory() const {
  return std::ranges::find(communicator_.pack_memory, pack_memory()) != communicator_.pack_memory.end();
}

}  // namespace dsop
