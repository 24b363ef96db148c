# shellcheck shell=bash disable=SC2154
# What pods.sh asks of pods, Services and machines. Sourced by it.

# pods MACHINE... makes a probe on each machine, with port 8081 of the machine, and waits.
pods() {
  local machine
  for machine in "$@"; do probe_pod "probe-$machine" "$machine" probe-server 8081; done >"$dir/probe.yaml"
  within "$step_limit" "probes created: $*" kubectl apply --server-side -f "$dir/probe.yaml"
  for machine in "$@"; do
    within "$step_limit" "probe-$machine ready" kubectl wait --for=condition=Ready --timeout=1s \
      pod "probe-$machine"
  done
}

# services makes the Service of the probes for each family, with a port on every machine.
services() {
  local one port=30080
  for one in IPv4 IPv6; do
    case $family$one in ipv4IPv6 | ipv6IPv4) continue ;; esac
    cat <<EOF
---
apiVersion: v1
kind: Service
metadata: {name: probe-${one,,}, namespace: default}
spec:
  type: NodePort
  ipFamilies: [$one]
  selector: {app: probe-server}
  ports: [{port: 80, targetPort: 8080, nodePort: $port}]
EOF
    port=$((port + 1))
  done >"$dir/services.yaml"
  within "$step_limit" "services created" kubectl apply --server-side -f "$dir/services.yaml"
}

# The request is longer than a packet may be.
long=$(printf '%06000d' 0)

# asks FROM URL WANT: the probe on a machine gets an answer that matches WANT.
asks() {
  local answer
  answer=$(kubectl exec "probe-$1" -- /probe get "$2?$long" 2>&1) || {
    printf 'probe-%s to %s: %s\n' "$1" "$2" "${answer//$long/}"
    return 1
  }
  # shellcheck disable=SC2053 # a pattern is wanted
  [[ $answer == $3 ]] || {
    echo "probe-$1 to $2: $answer answered, not $3"
    return 1
  }
}
pod_ips() { # MACHINE
  kubectl get pod "probe-$1" -o jsonpath='{range .status.podIPs[*]}{.ip}{"\n"}{end}' |
    sed 's/.*:.*/[&]/'
}

# all_connected: each probe reaches each other one by its addresses and by the ports of the other
# machines, and the Services by their addresses and names.
all_connected() {
  local from to ip ips service services=''
  [[ $proxy == none ]] || services=$(kubectl get service -o name -l '!component') || return
  [[ -n $services || $proxy == none ]] || {
    echo "no Service is there"
    return 1
  }
  for from in "${machines[@]}"; do
    for to in "${machines[@]}"; do
      ips=$(pod_ips "$to") && [[ -n $ips ]] || return
      for ip in $ips; do asks "$from" "http://$ip:8080/" "probe-$to" || return; done
      [[ $from != "$to" && -z $flushed ]] || continue
      ips=$(addresses "$to") && [[ -n $ips ]] || return
      for ip in $ips; do
        asks "$from" "http://$ip:8081/" "probe-$to" || return
      done
    done
    for service in $services; do
      service=${service#service/}
      ips=$(kubectl get service "$service" -o jsonpath='{.spec.clusterIP}') &&
        [[ -n $ips ]] || return
      ips=${ips/*:*/[$ips]}
      asks "$from" "http://$ips/" 'probe-*' || return
      asks "$from" "http://$service.default.svc.cluster.local/" 'probe-*' || return
    done
  done
}

# reached_from_outside: every machine hands a request at its node port to some probe, and at its
# port 8081 to its own.
reached_from_outside() {
  local machine ip answer want port ports found
  for machine in "${machines[@]}"; do
    found=$(addresses "$machine") && [[ -n $found ]] || return
    for ip in $found; do
      ports=(30080)
      [[ $family != dual || $ip != *:* ]] || ports=(30081)
      [[ -n $flushed ]] || ports+=(8081)
      for port in "${ports[@]}"; do
        answer=$(ip netns exec outside curl -sSg -m 5 --noproxy '*' "http://$ip:$port/?$long") ||
          answer="curl ends with $?"
        want='probe-*'
        [[ $port != 8081 ]] || want=probe-$machine
        # shellcheck disable=SC2053 # a pattern is wanted
        [[ $answer == $want ]] || {
          echo "$ip:$port: $answer, not $want"
          return 1
        }
      done
    done
  done
}

check_network() {
  within "$step_limit" "every pod reaches every pod, port and service$1" all_connected
  within "$step_limit" "every machine is reached from outside$1" reached_from_outside
}

# no_file_changed SINCE: nothing in these folders of the three machines is newer.
no_file_changed() {
  local machine changed
  for machine in cp-1 worker-1 worker-2; do
    changed=$(vm ssh "$machine" "find /etc /usr /opt -newerct '@$1' ! -type d") || return
    [[ -z $changed ]] || {
      echo "$machine: $changed"
      return 1
    }
  done
}
