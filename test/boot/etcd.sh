# shellcheck shell=bash disable=SC2034,SC2154
# What the members of etcd say, each for itself, through etcd's JSON gateway. Sourced after
# cluster.sh.

# etcd MACHINE PATH QUESTION prints the answer of the machine's member to a question in JSON.
etcd() {
  local pki=/etc/etcd/pki
  vm ssh "$1" "url=\$(sed -n 's/.*--listen-client-http-urls=//p' /etc/kubernetes/manifests/etcd.yaml)
    curl -sSf -m 5 --cacert $pki/ca.crt --cert $pki/server.crt --key $pki/server.key \
      -d '$3' \"\$url/v3/$2\""
}

# members prints a line for each member, as the first of $control_planes has them.
members() { etcd "${control_planes[0]}" cluster/member/list '{}' | tr '{' '\n'; }

member_id() { members | sed -n "s/.*\"ID\":\"\([0-9]*\)\".*\"name\":\"$1\".*/\1/p"; }

# votes MACHINE: it is a started member with a vote, and not the one that $old_member was.
# remember_member MACHINE sets that, before the machine loses its disk.
old_member=''
remember_member() {
  old_member=$(member_id "$1")
  [[ -n $old_member ]] || fail "$1 is no member of etcd"
}
votes() {
  members >"$tmp/members" || return
  cat "$tmp/members"
  grep -F "\"name\":\"$1\"" "$tmp/members" | grep -F '"clientURLs":[' |
    grep -vF '"isLearner":true' | grep -v "\"ID\":\"${old_member:-none}\""
}

# all_vote: each control plane has a vote, and there is no other member.
all_vote() {
  local machine count=0
  for machine in "${machines[@]}"; do
    [[ $machine == cp-* ]] || continue
    votes "$machine" || return
    count=$((count + 1))
  done
  (($(grep -c '"ID":' "$tmp/members") == count))
}

# stored KEY MACHINE prints what the member has itself under a key, without asking the others. It
# fails if that is nothing.
stored() {
  local value
  value=$(etcd "$2" kv/range \
    "{\"key\":\"$(printf %s "$1" | base64 -w 0)\",\"serializable\":true}" |
    sed -n 's/.*"value":"\([^"]*\)".*/\1/p') && [[ -n $value ]] && base64 -d <<<"$value"
}

# write and are_written: ConfigMaps that must survive, on each control plane.
write() { kubectl create configmap "$1"; }
are_written() { # are_written NAME...
  local machine name
  for machine in "${machines[@]}"; do
    [[ $machine == cp-* ]] || continue
    for name in "$@"; do
      stored "/registry/configmaps/default/$name" "$machine" >/dev/null || {
        echo "$machine does not have $name"
        return 1
      }
    done
  done
}
