package main

// What the page says before its tables.
const (
	head = `# Proof

For anyone who asks how often it works. What was booted, harmed and replaced, how often, and how
long did it take? ` + "`make proof`" + ` wrote this page from what it measured; nobody edits it.

The machines are containers of one computer ([test/boot](../test/boot/README.md)): real systemd,
cloud-init, kubelet, containerd and etcd on the computer's own kernel. A power cut kills all their
processes at once. The disk keeps what had been written until then, also what was not yet synced:
what a real disk may lose is not shown here. Seconds count from the moment when process 1 starts.
The program looks once a second, or less often when the processors are busy. The soak runs beside
all other repetitions, which run one after the other.

`
	again = `
To repeat one: ` + "`test/boot/proof.sh --seed SEED SCENARIO`" + `, at this commit. The seed
determines order, delays, moments and machines.
`
	aboutKills = `A first boot loses its power at a random moment within %s seconds, and gets it
back with its disk as it is. Each must end done and Ready, without a finding of the boot net. A
worker starts together with its control plane.

`
	aboutWiped = `Three control planes and a worker form a cluster. A control plane comes back with
an empty disk and the same document. What was written before is on each member of etcd afterwards.

`
	aboutOrder = `Three control planes get their power in a random order, each 0 to 20 seconds after
the one before. Seconds count from the first power-on.

`
	aboutNegative = `Each document was rendered well and then changed behind kiln's back, so
` + "`kiln render --check`" + ` sees a difference; without that it fails. Where the mistake can be
written in ` + "`cluster.yaml`" + `, the table shows what kiln says to it. Except where a byte is
flipped and a file is missing, the list of files in the document was changed with it, so that the
hook finds the files as they were rendered, and the mistake reaches the program that reads them.
` + "`boot.stepTimeout`" + ` is a minute, so that the hook soon says what it waits for. The
machine has to say just this mistake: another fault, or a Node that is not Ready, does not count.

`
	aboutSoak = `Three control planes and three workers for %s seconds. Every %s seconds a machine
comes back with an empty disk. A client writes a number through one API server and reads it through
another one, five times a second. It goes to the next server after an error, or after three seconds
without an answer. The longest silence is the most time between two rounds that went well.

`
	aboutSteps = `Whole seconds, as the hook writes them to ` + "`status.json`" + `, of all machines
of the repetitions above that passed, without the bad documents.

![Seconds of each step: least, median and most](proof-steps.svg)

`
)
