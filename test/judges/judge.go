package judges

// Judge returns the faults of the machines of one cluster. Each finding is a sentence that names
// the machine and the file or flag. No finding means that the judge is content.
type Judge struct {
	Name string
	Func func(cluster []*Machine) []string
}

// judges are all judges that a cluster has to pass. TestMutations proves that together they find
// every change that matters.
var judges = []Judge{
	{"objects", objectsJudge},
	{"configurations", configurationsJudge},
	{"flags", flagsJudge},
	{"kubeadm", kubeadmJudge},
	{"cis", cisJudge},
	{"trust", trustJudge},
	{"hygiene", hygieneJudge},
}
