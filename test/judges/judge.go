package judges

// Judge returns the faults of the machines of one cluster. Each finding is a sentence that names
// the machine and the file or flag. No finding means that the judge is content.
type Judge struct {
	Name string
	Func func(cluster []*Machine) []string
	// Release reports whether the judge is made of Kubernetes' own source: its verdict then holds
	// for one release.
	Release bool
}

// judges are all judges that a cluster has to pass. TestMutations proves that together they find
// every change that matters.
var judges = []Judge{
	{"objects", objectsJudge, true},
	{"configurations", configurationsJudge, true},
	{"flags", flagsJudge, true},
	{"kubeadm", kubeadmJudge, true},
	{"access", accessJudge, true},
	{"cis", cisJudge, false},
	{"trust", trustJudge, false},
	{"hygiene", hygieneJudge, false},
}
