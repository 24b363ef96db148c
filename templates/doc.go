// Package templates holds what is text on machines: the hook, the script for snapshots,
// the systemd units. A machine gets the hook's engine without its comments, of the steps and checks
// those that it has, and units with its own words filled in. What differs otherwise they read from
// data that render makes for each machine, in formats of their own.
//
// The rest of this comment describes these formats. Every line ends in a line feed; columns are
// separated by single spaces.
//
// # /etc/kiln/preload
//
// The images that the step preload brings, a line each: the name that containerd keeps it under,
// and its digest if that is not in the name.
//
// # /etc/kiln/machine
//
// Shell assignments, name='value'. A single quote in a value is written with four characters:
// quote, backslash, quote, quote. A name that does not concern the machine is empty or missing. The
// hook runs with set -u, so only the steps that need such a name may read it:
//
//	node                Node name; empty for machines of a pool, whose step name finds it
//	role                control-plane, worker or etcd: for a reader
//	cluster             the cluster's UUID
//	steps               the steps of this machine in their order, see below
//	pre_boot, post_boot name:seconds of each of the user's scripts in the folder of that name
//	kubelet             the kubelet's program
//	step_timeout        seconds that a step waits before it reports a fault
//	credential_end      seconds since 1970 at which the install credential or, in pools, the
//	                    bootstrap token ends
//	api                 URL of the API server, no slash at its end: a control plane's own,
//	                    a worker's endpoint; empty on etcd machines
//	etcd_member         this member's name, on members of etcd, as the next five
//	etcd_url            where this member answers the others: https://address:2380
//	etcd_cluster        identity of the etcd cluster: the cluster's UUID, and -N after it was
//	                    restored N-1 times
//	etcd_deadline       seconds since 1970 after which an empty member does not begin a cluster;
//	                    0 if it never may
//	etcd_snapshot       the file that the member is restored from; step restore
//	etcd_image          the image that has the program for it; step restore
//	etcd_peers          name=https://address:2380,https://address:2378 of each other member:
//	                    where it answers members, where clients; in an imported cluster each a
//	                    second time with port 2379, where one that kubeadm made answers clients
//	preload             registry, medium or a path: where the images come from; step preload
//	arch                the machine's architecture, such as amd64; step preload
//	restart             units restarted in this order before the kubelet's first start:
//	                    systemd-modules-load.service and systemd-sysctl.service (which set
//	                    modules, sysctls and kernel.hostname from the files under
//	                    /etc/modules-load.d and /etc/sysctl.d), the container runtime,
//	                    kiln-wall.service
//	marker              REST path of the object that marks objects as applied; control planes
//	name_url            (pools, as the next four) where the platform says the name; if it is empty
//	                    the host name is taken
//	name_header         a header that the request needs; empty if none
//	name_token          where a PUT hands out the token for it; empty if it needs none
//	name_short          not empty if the name ends at the first dot
//	node_address        for each family, arguments of ip that show it: -4,route,get,192.0.2.1
//	backup_directory, backup_keep, backup_url  where kiln-backup writes snapshots, how many
//	                    stay, and where etcd gives one out
//	kubelet_version     that of a kubelet from an extension or a package
//	retire              paths and patterns removed once the machine is done, at each later
//	                    start, and after credential_end: install.crt, install.key,
//	                    bootstrap-kubelet.conf, …
//
// Others are allowed and ignored. The steps are:
//
//	control-plane       files machine preflight etcd kubelet objects control-plane node labels
//	worker              files machine preflight kubelet node
//	etcd                files machine preflight etcd kubelet member ready
//	where they apply    pre-boot after files, and post-boot at the end: with scripts
//	                    fetch after machine: programs come from elsewhere than the image
//	                    extend after fetch: a system extension has them
//	                    packages after machine: packages have them
//	                    name after preflight: machines of pools
//	                    role after node, or after network: workers with roles
//	                    network before post-boot: with Flannel
//	                    etcd on a control plane: only with a local member
//	                    member after kubelet on a control plane: if there are other members
//	                    restore or others before etcd: while etcd is restored from a snapshot
//
// # /etc/kiln/steps, /etc/kiln/report
//
// Shell functions that the hook reads: the steps and checks of this machine (Steps), and its verb
// report (Report).
//
// # /etc/kiln/announce, /etc/kiln/announce.crt
//
// A machine that announces the state of its first boot has these: the script (Announce), which the
// hook starts as kiln-announce.service, beside itself; and the CA of the server, if it is neither
// one that the system trusts nor the cluster's. The script GETs a nonce from the URL, printable
// ASCII of at most 99 bytes without blanks, and POSTs to the same URL
//
//	MAC  -&STATUS NONCE
//
// STATUS is the line of status.json. MAC is the HMAC-SHA256 of "STATUS NONCE" in hex, as sha256sum
// prints it. Its key is $i of the script, each byte with 0x36 in an exclusive or. A status of 2xx
// says that the server has it; after any other answer, or none, the script asks again.
//
// # /etc/kiln/pre-boot/NAME, /etc/kiln/post-boot/NAME
//
// The user's scripts. What they print is in /var/lib/kiln/pre-boot-NAME.log.
//
// # /etc/kiln/checks
//
// Lines id|severity|check|remedy. The id is the fault's code. If a stop check fails the machine
// stops; if a warn check fails it goes on; a wait check is tried again, and reported after
// step_timeout. A check is a function with its arguments, which hold no spaces: "at_least 2 nproc".
// It returns whether the check holds, and leaves its evidence in $found. The functions are in
// boot/checks, the list of checks in render/machine/preflight.
//
// # /etc/kiln/files
//
// The files that must be there before the first step, path last. It does not list itself, and lists
// everything else in /etc/kiln. Its SHA-256 is the document's identity.
//
//	SUM MODE OWNER:GROUP PATH       SUM is a prefix of the SHA-256 in hex: 8 digits, which find
//	                                accidents. MODE has a leading 0. An OWNER:GROUP of - means
//	                                root:root, here and below
//	dir MODE OWNER:GROUP PATH       made if missing
//	none - - PATH                   must not be there; a file at this path is moved aside
//	link TARGET - PATH              symbolic link, made if missing; a file in its place is moved
//	                                aside
//	end DIGEST ROOTS                the last line: without it the list was cut off. DIGEST is the
//	                                SHA-256, in hex, of what the review twin shows of the machine;
//	                                ROOTS the state of each root that was rotated, "ca: g2 issue
//	                                since …", with semicolons between them
//
// # Annotations of the Node
//
// Once the Node is registered, the hook writes to it with the kubelet's credential:
//
//	kiln.dev/twin       DIGEST ROOTS, as above
//	kiln.dev/hook       phase and step as in status.json, and a code and an object for each fault
//	kiln.dev/born       the digest of the document that the machine was made from, if kiln apply
//	                    has changed it since; else nothing
//
// A machine that was taken over can write anything there: it is what the machine says of itself.
//
// # /etc/kiln/artifacts, /etc/kiln/artifacts.crt
//
// What the step fetch gets, in this order, a line each: SHA-256 in hex, the version that the
// program says with --version or - for an image, the program, the folder into which an archive is
// unpacked or - for a program alone, the URL of a proxy or -, the URL. The CA of these servers is
// in the second file, if it is not one that the system trusts.
//
// # /etc/kiln/objects/index, /etc/kiln/node.yaml
//
// Each line is an object's REST path, a tab and the name of a file in the same folder: namespaces,
// CustomResourceDefinitions, the others, and last the marker. Where no definition says what the
// resource of an object is called, the path has the kind in its place, and a namespace if the
// object names one: /apis/GROUP/VERSION[/namespaces/NAMESPACE]/Kind/NAME. The file is the object
// for server-side apply, as JSON. If objects were refused, the marker is applied with their paths
// and what the API server said, one a line in data.failed, in place of its file; then it does not
// count as applied. node.yaml is the same for the machine's own Node; without it nothing is applied
// to the Node.
//
// # /var/lib/kiln/artifacts, /var/lib/kiln/fetched
//
// The folder artifacts has an empty file for each SHA-256 that is in its place. The file fetched is
// there when all are, or when the packages are installed.
//
// # /var/lib/kiln/state, /var/lib/kiln/starts, /var/lib/kiln/status.json
//
// The state has three lines: the document's identity; the steps that were done and the seconds that
// they took, as members of a JSON object; the machine's identity. The file starts counts the hook's
// starts since the last step was done. status.json is one object, with the schema
// docs/status.schema.json:
//
//	{"phase":"running|waiting|stopped|done","step":"…","node":"…","cluster":"…",
//	 "document":"…","uptime":0,"steps":{"files":0,…},"waiting":"…",
//	 "faults":[{"code":"…","object":"…","evidence":"…","remedy":"…"}]}
//
// Each fault is also one line "FAULT code object: evidence; remedy" in the journal, on the console
// and in /etc/issue.d/kiln.issue. Codes are the ids of checks and FaultCodes. All is printable
// ASCII; quotation marks show as ', backslashes as /, everything else as ?.
//
// # Waits
//
// A wait asks again and again, first five times a second, then at pauses of a thirtieth of the time
// that the step has waited. After step_timeout the phase is waiting with faults: the hook reports
// the fault once in all four places, and asks every one to five minutes. When the answer comes the
// fault is taken back, and the step has its whole time again for its next wait. docs/faults.md has
// the table of all waits. The loop is in the hook, not in systemd: Restart= would do the machine
// step and the restarts of units again each time, and its pause grows only from systemd 254 on.
package templates
