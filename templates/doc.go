// Package templates holds the text that kiln puts on machines as it is: the hook, the script that keeps routes, the
// systemd units. It turns nothing into anything; what the texts read is data that render makes for each machine, in
// formats of this package's own.
//
// The rest of this comment is those formats. Every line ends in a line feed; columns are separated by single spaces.
//
// # /etc/kiln/machine
//
// Shell assignments, name='value'. A single quote in a value is spelt with four characters, quote, backslash, quote,
// quote. All of these, empty where there is nothing to say:
//
//	node                Node name; empty for machines of a pool, which take their host name in lower case
//	role                control-plane or worker
//	cluster             the cluster's UUID
//	steps               control plane: files machine preflight etcd kubelet control-plane objects node retire
//	                    (etcd only with a local member); worker: files machine preflight kubelet node retire
//	step_timeout        seconds that a step may wait
//	formation_deadline  seconds since 1970 after which an empty etcd member does not start
//	api                 URL of the API server, no slash at its end: a control plane's own, a worker's endpoint
//	etcd_member         this member's name, empty without local etcd
//	etcd_peers          name=https://address:2379 of each other member
//	swap                off or keep
//	restart             units restarted in this order before the kubelet's first start: systemd-modules-load.service and
//	                    systemd-sysctl.service (which set modules, sysctls and kernel.hostname from the files under
//	                    /etc/modules-load.d and /etc/sysctl.d), the container runtime, kiln-routes.service
//	ignore              checks of which a failure only warns
//	marker              REST path of the object that says that objects were applied; control planes
//	retire              paths removed at the end: install.crt, install.key, bootstrap-kubelet.conf, …
//
// Others are allowed and not looked at.
//
// # /etc/kiln/checks
//
// Lines id|severity|check|remedy. The id is the fault's code and what ignore names. A stop check that fails stops the
// machine, a warn check does not, a wait check is tried again until step_timeout before it counts as stop. In check,
// no argument holds a space:
//
//	root                            runs as root
//	cpus N                          at least N processors
//	memory MIB                      at least that much
//	arch MACHINE                    uname -m
//	kernel VERSION                  uname -r is VERSION or later
//	cgroup2 CONTROLLER...           cgroup v2 with these controllers
//	swap-off                        nothing swapped to
//	command NAME                    in PATH, or an absolute path
//	file-exists PATH                file, folder or anything
//	socket PATH                     a Unix socket
//	empty-dir PATH                  missing, empty, or only lost+found
//	module NAME                     in the kernel; with underscores
//	sysctl KEY VALUE                KEY with slashes: net/ipv4/ip_forward
//	port-free PORT                  no TCP listener
//	address IP                      on an interface, and not tentative
//	not-before SECONDS              the clock, since 1970
//	not-after SECONDS               the same
//	kubelet-version PROGRAM V BELOW its version is at least V and less than BELOW (v1.33 v1.37)
//	active UNIT                     systemctl is-active
//	disk PATH MIB                   free where PATH lies, which must exist
//
// # /etc/kiln/files
//
// What must be there before anything is done, path last. It does not list itself, and should list all else in
// /etc/kiln. Its SHA-256 is the document's identity.
//
//	SUM MODE OWNER:GROUP PATH       SUM is a prefix of the SHA-256 in hex; 16 digits find every accident. MODE has a leading 0
//	dir MODE OWNER:GROUP PATH       made if missing
//	link TARGET - PATH              symbolic link, made if missing
//	end                             the last line: without it the manifest was cut off
//
// # /etc/kiln/objects/index, /etc/kiln/node.yaml
//
// Lines "REST-path file", the marker last; each file, in the same folder, is one object for server-side apply. node.yaml
// is the same for the machine's own Node; without it nothing is applied.
//
// # /var/lib/kiln/state, /var/lib/kiln/status.json
//
// The state is two lines: the document's identity, and the steps done with the uptime in seconds at which they were, as
// members of a JSON object. The verdict is one object:
//
//	{"phase":"running|waiting|stopped|done","step":"…","node":"…","cluster":"…","document":"…","uptime":0,
//	 "steps":{"files":0,…},"faults":[{"code":"…","object":"…","evidence":"…","remedy":"…"}]}
//
// Each fault is also one line "FAULT code object: evidence; remedy" in the journal, on the console and in
// /etc/issue.d/kiln.issue. Codes are the ids of checks and FaultCodes. All is printable ASCII; quotation marks show as
// ', backslashes as /, everything else as ?.
//
// # /etc/kiln/routes, /etc/kiln/masquerade, /etc/kiln/forbidden
//
// Routes to the pods of other machines are lines "CIDR GATEWAY COUNT": that many machines, of which each has the next
// pod CIDR of the same size and the next address. COUNT is 1 with IPv6. Masquerading is lines "ip|ip6 CIDR SUBNET": what
// pods in this machine's CIDR send to addresses outside the cluster's pod subnet. Forbidden are lines "-4|-6 SUBNET
// ADDRESS": TCP connections from there to that address are refused, but for DNS over TCP.
package templates
