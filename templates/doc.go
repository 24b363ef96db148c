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
//	node                Node name; empty for machines of a pool, which find theirs in the step name
//	role                control-plane, worker or etcd
//	cluster             the cluster's UUID
//	steps               control plane: files machine preflight etcd kubelet control-plane objects node labels retire
//	                    (etcd only with a local member, before it restore or others, while and after etcd is brought back from
//	                    a snapshot, and member after kubelet if there are others); worker: files machine preflight kubelet
//	                    node retire, and role after node with roles; etcd: files machine preflight etcd kubelet member ready retire;
//	                    pre-boot after files and post-boot before retire, where there are scripts; name after preflight on
//	                    machines of pools
//	pre_boot, post_boot name:seconds of each of the user's scripts in the folder of that name
//	kubelet             the kubelet's program
//	step_timeout        seconds that a step may wait
//	formation_deadline  seconds since 1970 at which the install credential ends
//	api                 URL of the API server, no slash at its end: a control plane's own, a worker's endpoint; empty with role etcd
//	etcd_member         this member's name, empty without local etcd
//	etcd_url            where this member answers the others: https://address:2380
//	etcd_cluster        identity of the etcd cluster: the cluster's UUID, and -N after it was restored N-1 times
//	etcd_deadline       seconds since 1970 after which an empty member does not begin a cluster; 0 for one that never may
//	etcd_snapshot       file that the member is restored from, and etcd_image what has the program for it; step restore
//	etcd_peers          name=https://address:2380,https://address:2379 of each other member: where it answers members, where clients
//	swap                off or keep
//	restart             units restarted in this order before the kubelet's first start: systemd-modules-load.service and
//	                    systemd-sysctl.service (which set modules, sysctls and kernel.hostname from the files under
//	                    /etc/modules-load.d and /etc/sysctl.d), the container runtime, kiln-routes.service
//	marker              REST path of the object that says that objects were applied; control planes
//	roles               name=value of each node-role.kubernetes.io/name that the Node is to have; step role
//	name_url            (pools, as the next four) where the platform says the name; empty takes the host name
//	name_header         a header that the request needs; empty if none
//	name_token          where a PUT hands out the token for it; empty if it needs none
//	name_short          not empty if the name ends at the first dot
//	node_address        a word for each family of the cluster: -4 or -6, and behind commas what ip address show takes
//	retire              paths and patterns removed at the end, and at each later start: install.crt, install.key,
//	                    bootstrap-kubelet.conf, …
//	wall                not empty if the kubelet may start only where the rules of /etc/kiln/forbidden are there
//
// Others are allowed and not looked at.
//
// # /etc/kiln/steps, /etc/kiln/report
//
// Shell functions that the hook reads: the steps of this machine's role and the checks that are made on it (Steps), and
// what it prints for a bug report (Report).
//
// # /etc/kiln/pre-boot/NAME, /etc/kiln/post-boot/NAME
//
// The user's scripts. What they print is in /var/lib/kiln/pre-boot-NAME.log.
//
// # /etc/kiln/checks
//
// Lines id|severity|check|remedy. The id is the fault's code. An empty remedy is that of the line before. A stop check that fails stops the
// machine, a warn check does not, a wait check is tried again until step_timeout before it counts as stop. A check is a kind
// with its arguments, of which none holds a space: "port-free 6443" calls the function check_port_free with 6443. It holds or
// it does not, and leaves what it saw in $found. The functions are in boot/checks, the list of checks in render/preflight.
//
// # /etc/kiln/files
//
// What must be there before anything is done, path last. It does not list itself, and should list all else in
// /etc/kiln. Its SHA-256 is the document's identity.
//
//	                                OWNER:GROUP is - for root:root
//	SUM MODE OWNER:GROUP PATH       SUM is a prefix of the SHA-256 in hex; 12 digits find every accident. MODE has a leading 0
//	dir MODE OWNER:GROUP PATH       made if missing
//	none - - PATH                   must not be there; what is, is moved aside
//	link TARGET - PATH              symbolic link, made if missing; what is there instead is moved aside
//	end                             the last line: without it the manifest was cut off
//
// # /etc/kiln/objects/index, /etc/kiln/node.yaml
//
// Lines "REST-path file", the marker last; each file, in the same folder, is one object for server-side apply. node.yaml
// is the same for the machine's own Node; without it nothing is applied.
//
// # /var/lib/kiln/state, /var/lib/kiln/starts, /var/lib/kiln/status.json
//
// The state is three lines: the document's identity; the steps done and the seconds that they took, as members of a JSON
// object; what tells this machine from another. Starts counts the hook's starts since a step was done. The verdict is one object,
// of which docs/status.schema.json is the schema:
//
//	{"phase":"running|waiting|stopped|done","step":"…","node":"…","cluster":"…","document":"…","uptime":0,
//	 "steps":{"files":0,…},"versions":{"kubelet":"…",…},"waiting":"…",
//	 "faults":[{"code":"…","object":"…","evidence":"…","remedy":"…"}]}
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
// ADDRESS PORTS": TCP connections from there to that address and those ports are refused.
package templates
