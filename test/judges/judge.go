package judges

// Judge says what is wrong with the machines of one cluster, each finding a sentence that names the machine and the file or
// flag. No finding means that the judge is content.
type Judge struct {
	Name string
	Func func(cluster []*Machine) []string
}

// judges are all that a cluster has to stand before. The mutation test proves that together they see every change
// that matters.
var judges = []Judge{
	{"objects", objectsJudge},
	{"configurations", configurationsJudge},
	{"flags", flagsJudge},
	{"kubeadm", kubeadmJudge},
	{"cis", cisJudge},
	{"trust", trustJudge},
	{"hygiene", hygieneJudge},
}
