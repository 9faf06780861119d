#!/usr/bin/env bash
# The part of the demo in which the daemon is killed: `lose_daemons`. The demo reads
# this file; its variables and functions are those of the demo.

# shellcheck disable=SC2154 # set by the demo: work plugins actord actorctl ...
# start_with_store ADDRESS: a daemon of its own, which keeps what it accepts. Its
# address goes to $ACTORD_ADDRESS.
start_with_store() {
  local port=$work/store-port
  rm -f "$port"
  "$actord" --listen "$1" --port-file "$port" --store "$work/store" \
    --plugin-dir "$plugins" --external 'payment.*' \
    --command-policy 'payment.* lease=1s max_attempts=100' \
    >>"$work/actord.log" 2>&1 &
  keeper=$!
  until [[ -s $port ]]; do
    kill -0 "$keeper" 2>/dev/null || fail "actord does not start with its store"
    sleep 0.005
  done
  ACTORD_ADDRESS=127.0.0.1:$(<"$port")
}

# Submits the orders until all are acknowledged: an order that was taken before is
# not taken again, because its request id is known.
submit_until_taken() {
  until "$actorctl" submit order --from-file "$work/orders.jsonl" -o name \
    >"$work/pids" 2>>"$work/retries"; do
    sleep 0.05
  done
}

# A field of the schedule that sends a message each second.
of_beat() {
  "$actorctl" schedule show beat -o json |
    sed -n "s/^ *\"$1\": \([0-9]*\),\{0,1\}$/\1/p"
}

# The schedule has run each second once, over all the kills: what it has sent is
# what the durable counter has.
check_beats() {
  local runs='' beats='' tries
  until (($(of_beat runs) >= 3)); do sleep 0.05; done
  "$actorctl" schedule pause beat >/dev/null || fail "the schedule does not pause"
  # The last message may be under way.
  for ((tries = 0; tries < 100; ++tries)); do
    runs=$(of_beat runs)
    beats=$("$actorctl" call @beats --topic get)
    if ((beats == runs)); then break; fi
    sleep 0.05
  done
  ((beats == runs)) || fail "the schedule has run $runs times, and sent $beats"
  (($(of_beat missed) == 0)) || fail "the schedule has missed $(of_beat missed) runs"
  say "the schedule ran $runs times, and its counter has $beats: each run once"
}

lose_daemons() {
  heading "7. $orders orders, while the daemon itself is killed"
  local id kills=0 started pids own=$ACTORD_ADDRESS
  typed "actord --store store ..."
  start_with_store 127.0.0.1:0
  export ACTORD_ADDRESS
  "$actorctl" submit counter 0 --name beats >/dev/null || fail "no counter"
  typed "actorctl schedule add beat --every 1s --catch-up all --send-to @beats --topic add"
  "$actorctl" schedule add beat --every 1s --catch-up all --send-to @beats \
    --topic add >/dev/null || fail "no schedule"
  for ((id = 1; id <= orders; ++id)); do
    printf '{"request_id": "order-%d", "input": {"order": "order-%d",' "$id" "$id"
    printf ' "amount_cents": %d, "hold_ms": 50, "payment_timeout_ms": 120000}}\n' "$id"
  done >"$work/orders.jsonl"
  touch "$work/daemon-ledger" "$work/retries"
  submit_until_taken &
  submitter=$!
  # It connects again when the daemon is back.
  "$python" "$source/client/examples/python/payment_worker.py" \
    "$ACTORD_ADDRESS" "$limit_cents" "$work/daemon-ledger" --at-a-time 8 \
    >"$work/worker.log" 2>&1 &
  worker=$!
  RANDOM=$seed
  while ((kills < 4)); do
    # The first kill comes among submissions, each later one among payments.
    until (($(wc -l <"$work/daemon-ledger") >= kills * orders / 5)); do
      kill -0 "$keeper" 2>/dev/null || fail "actord has ended by itself"
      sleep 0.02
    done
    sleep "0.$((RANDOM % 200 + 100))"
    kill -KILL "$keeper"
    wait "$keeper" 2>/dev/null || true
    ((++kills))
    started=${EPOCHREALTIME/./}
    start_with_store "$ACTORD_ADDRESS"
    say "kill -KILL actord; it serves again after" \
      "$(((${EPOCHREALTIME/./} - started) / 1000)) ms," \
      "with $(wc -l <"$work/daemon-ledger") payments made"
  done
  wait "$submitter" || fail "the orders are not taken"
  submitter=
  (("$(sort -u "$work/pids" | wc -l)" == orders)) ||
    fail "there are not $orders orders"
  mapfile -t pids <"$work/pids"
  "$actorctl" await "${pids[@]}" --timeout 120s >"$work/charged" ||
    fail "not every order has succeeded"
  (("$(grep -c '"status":"charged"' "$work/charged")" == orders)) ||
    fail "an order is not charged: $(grep -v '"status":"charged"' "$work/charged")"
  end_child "$worker" || fail "the payment worker: $(<"$work/worker.log")"
  worker=
  (("$(sort -u "$work/charged" | wc -l)" == orders)) ||
    fail "an order has ended twice"
  (("$(wc -l <"$work/daemon-ledger")" == orders)) ||
    fail "there are $(wc -l <"$work/daemon-ledger") payments"
  check_beats
  "$actorctl" shutdown >/dev/null || fail "the daemon with the store does not end"
  wait "$keeper" || fail "the daemon with the store ended with status $?"
  keeper=
  ACTORD_ADDRESS=$own
  say "each of the $orders orders ended once, and was paid for once"
}

