# shellcheck shell=bash disable=SC2034,SC2154
# What must stay while machines are replaced one after the other: Secrets and tokens that somebody
# left behind, and a client that writes and reads all the time. Sourced after cluster.sh by a script
# whose control planes are cp-1, cp-2 and cp-3.

secrets=() tokens=() # names of what every API server has to know

# The address of a machine's API server, also while the machine is off.
url_of() { echo "https://10.10.0.1${1#cp-}:6443"; }

# leave_traces NAME: a Secret that the present API server encrypts, and a token that it signs.
leave_traces() {
  within "$step_limit" "a Secret is written" kubectl create secret generic "of-$1" \
    --from-literal=stage="$1"
  within "$step_limit" "a token is made" make_token "$1"
  secrets+=("$1") tokens+=("$1")
}
make_token() { kubectl create token default --duration 2h >"$dir/token-$1"; }

# find_traces: every API server reads the Secrets of $secrets, and knows the tokens of $tokens.
find_traces() {
  local machine name
  local -a control_planes
  for machine in cp-1 cp-2 cp-3; do
    control_planes=("$machine")
    for name in "${secrets[@]}"; do
      kubectl get secret "of-$name" -o jsonpath='{.data.stage}' | base64 -d | grep -qx "$name" || {
        echo "$machine: of-$name"
        return 1
      }
    done
    for name in "${tokens[@]}"; do
      [[ $(answer_token "$machine" "$dir/token-$name") == 403 ]] || {
        echo "$machine: the token of $name"
        return 1
      }
    done
  done
}
# answer MACHINE ARGUMENT... prints the status of the API server's answer to curl with the
# arguments: 401 to somebody whom it does not know, 403 to somebody who may not.
answer() {
  curl -sS -m 5 -o /dev/null -w '%{http_code}\n' --cacert "$dir/ca" \
    --connect-to "kubernetes:6443:10.10.0.1${1#cp-}:6443" "${@:2}" \
    https://kubernetes:6443/api/v1/nodes
}
# answer_token MACHINE FILE: the same for a token, which is no argument of curl.
answer_token() { answer "$1" -K - <<<"header = \"Authorization: Bearer $(cat "$2")\""; }

# start_client begins to write and read through all control planes. The file away has the URL of the
# machine that is switched off.
start_client() {
  : >"$dir/away"
  "$tmp/client" -ca "$dir/ca" -cert "$dir/cert" -key "$dir/key" -away "$dir/away" -for 3h \
    "$(url_of cp-1)" "$(url_of cp-2)" "$(url_of cp-3)" >"$tmp/client.json" 2>"$tmp/client.log" &
  client=$!
}

# end_client CUTS ends the client, and the case if something was lost. A write that was on its way
# to etcd's leader when its power was cut is lost, and the client stops waiting for it: one for each
# of the CUTS control planes that were switched off. Nothing else may fail.
end_client() {
  local code=0 failed
  kill -TERM "$client"
  wait "$client" || code=$?
  tail -n 1 "$tmp/client.json"
  cp "$tmp/client.log" "$tmp/attempt"
  ((code == 0)) || fail "the client has lost something"
  failed=$(tail -n 1 "$tmp/client.json" | sed 's/.*"failed":\([0-9]*\),.*/\1/')
  ((failed <= $1)) || fail "$failed requests have failed; $1 control planes were switched off"
  ! grep -q '^client: .*: ' <(grep -v 'deadline exceeded' "$tmp/client.log") ||
    fail "a request has failed otherwise than by a time-out"
}
