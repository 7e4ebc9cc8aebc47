#include "base/random.h"
#include "bench/handlers.h"
#include "bench/protocol.h"
#include "bench/sessions.h"
#include "bench/train.h"
#include "bench/typed.h"

namespace railbed {

Handlers train_handlers() {
  auto doors = std::make_shared<Sessions<TcpDoor>>();
  Handlers handlers;
  handlers.emplace(
      kTrainListen,
      typed_handler<TcpListen>([doors](const TcpListen& request, std::stop_token) -> Result<TcpListening> {
        auto listener = listen_on(request.address, 8);
        if (!listener) return fail(listener.error());
        auto door = std::make_shared<TcpDoor>(TcpDoor{std::move(*listener), random_hex(kTokenHex / 2)});
        TcpListening answer{"", door->listener.port, door->token};
        answer.session = doors->add(std::move(door));
        return answer;
      }));
  handlers.emplace(kTrainRun, typed_handler<TrainRun>(
                                  [doors](const TrainRun& request, std::stop_token stop) -> Result<TrainRan> {
                                    if (auto sane = check_run(request); !sane) return fail(sane.error());
                                    if (request.next.token.size() != kTokenHex)
                                      return fail(ErrorKind::kBadInput, "token: wrong length");
                                    auto door = doors->find(request.session);
                                    if (!door) return fail(door.error());
                                    doors->remove(request.session);
                                    return train_over_tcp(**door, request, std::move(stop));
                                  }));
  return handlers;
}

}  // namespace railbed
