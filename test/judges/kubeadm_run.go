package judges

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/cmd/kubeadm/app/constants"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/kubeconfig"
	"sigs.k8s.io/yaml"
)

// kubeadmToken is the bootstrap token that kubeadm would else choose at random.
const kubeadmToken = "abcdef.0123456789abcdef"

// Files that both sides have.
const (
	adminConf  = "/etc/kubernetes/admin.conf"
	nodeObject = "/etc/kiln/node.yaml" // what the machine's own Node gets from the first boot
)

// kubeadmRuns holds a func() (facts, error) for each machine, which runs kubeadm once.
var kubeadmRuns sync.Map

// kubeadmFacts returns what kubeadm leaves on that machine, of the release that the machine runs.
func kubeadmFacts(m *Machine) (facts, error) {
	key := struct{ release, golden, name string }{m.Kubernetes, m.Case, m.Name}
	run, _ := kubeadmRuns.LoadOrStore(key, sync.OnceValues(func() (facts, error) {
		theirs, err := kubeadmInit(key.release, key.golden, key.name)
		if err != nil {
			return nil, err
		}
		return readFacts(theirs)
	}))
	return run.(func() (facts, error))()
}

// kubeadmInit runs kubeadm init as a dry run and returns the machine that a real run would have
// left. The API objects lie under /etc/kiln/objects, as on our machines.
func kubeadmInit(release, golden, name string) (*Machine, error) {
	kubeadm, err := kubeadmBinary(release)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kubeadm")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, sub := range []string{"made", "patches"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	c, err := readGolden(golden)
	if err != nil {
		return nil, err
	}
	config, err := c.kubeadmConfig(release, name, filepath.Join(dir, "patches"))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), config, 0o600); err != nil {
		return nil, err
	}
	// Without programs in its path, kubeadm learns nothing about the machine on which it runs;
	// preflight would look for them.
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(kubeadm, "init", "--dry-run", "--skip-phases=preflight",
		"--config="+filepath.Join(dir, "config.yaml"))
	cmd.Env = []string{"PATH=" + dir, "KUBEADM_INIT_DRYRUN_DIR=" + filepath.Join(dir, "made")}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("kubeadm init: %w\n%s", err, &stderr)
	}
	if strings.Contains(stderr.String(), "strict decoding error") {
		return nil, fmt.Errorf("kubeadm does not know all of its configuration:\n%s", &stderr)
	}
	theirs, err := kubeadmMachine(filepath.Join(dir, "made"), stdout.String())
	if err != nil {
		return nil, err
	}
	switch c.node(name).Role {
	case "worker":
		theirs = asWorker(theirs)
	case "etcd":
		theirs = asEtcdMachine(theirs)
	}
	return theirs, nil
}

// asEtcdMachine keeps those files of a machine made by kubeadm init that the phases certs etcd-*
// and etcd local write. kubernetes.io builds etcd machines from these phases (Set up a High
// Availability etcd Cluster with kubeadm); the kubelet's settings are written by hand there.
func asEtcdMachine(first *Machine) *Machine {
	member := &Machine{}
	member.Role = "etcd"
	for _, dir := range first.Dirs {
		if dir.Path != "/etc/kubernetes/pki" {
			member.Dirs = append(member.Dirs, dir)
		}
	}
	for _, f := range first.Files {
		if f.Path == "/etc/kubernetes/manifests/etcd.yaml" ||
			filepath.Dir(f.Path) == "/etc/kubernetes/pki/etcd" &&
				!strings.Contains(f.Path, "healthcheck-client") &&
				f.Path != "/etc/kubernetes/pki/etcd/ca.key" {
			member.Files = append(member.Files, f)
		}
	}
	return member
}

// asWorker turns a machine made by kubeadm init into one that joined as a worker: it has only the
// kubelet's files and the CA. The configuration of the kubelet is the one that init uploads. The
// kubelet writes kubelet.conf once it has its certificate; it names the shared endpoint, not the
// address of the machine.
func asWorker(first *Machine) *Machine {
	worker := &Machine{}
	worker.Role = "worker"
	for _, dir := range first.Dirs {
		if dir.Path != "/var/lib/etcd" {
			worker.Dirs = append(worker.Dirs, dir)
		}
	}
	for _, f := range first.Files {
		switch {
		case f.Path == "/etc/kubernetes/kubelet.conf":
			f.Content = bytes.Replace(f.Content, serverLine.Find(f.Content),
				serverLine.Find(first.File(adminConf).Content), 1)
		case f.Path == "/etc/kubernetes/pki/ca.crt", filepath.Dir(f.Path) == "/var/lib/kubelet",
			f.Path == kubeletDropIn:
		default:
			continue
		}
		worker.Files = append(worker.Files, f)
	}
	return worker
}

// serverLine is a kubeconfig's line with the API server's address.
var serverLine = regexp.MustCompile(`(?m)^ *server: .*$`)

// kubeadmBinary builds kubeadm from the module of the release, into the user's cache. If the binary
// is there already, go build has nothing to do.
func kubeadmBinary(release string) (string, error) {
	build, _ := kubeadmBuilds.LoadOrStore(release, sync.OnceValues(func() (string, error) {
		mods, err := filepath.Glob("*.mod")
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(mods, func(mod string) bool {
			text, err := os.ReadFile(mod)
			return err == nil && strings.Contains(string(text), "\tk8s.io/kubernetes "+release+"\n")
		})
		if i < 0 {
			return "", fmt.Errorf("no .mod file requires k8s.io/kubernetes %s", release)
		}
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		program := filepath.Join(cache, "kiln-judges", "kubeadm-"+release)
		minor := strings.Split(release, ".")[1]
		stamp := fmt.Sprintf(
			"-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=1 -X %[1]s.gitMinor=%[3]s",
			"k8s.io/component-base/version", release, minor)
		cmd := exec.Command("go", "build", "-modfile="+mods[i], "-ldflags="+stamp, "-o", program,
			"k8s.io/kubernetes/cmd/kubeadm")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
		return program, nil
	}))
	return build.(func() (string, error))()
}

// kubeadmBuilds holds a func() (string, error) for each release.
var kubeadmBuilds sync.Map

// kubeadmMachine reads the folder and the output of a dry run. The dry run writes all files into
// one folder; kubeadmMachine puts them where a real run writes them.
func kubeadmMachine(made, said string) (*Machine, error) {
	m := &Machine{}
	m.Role = "control-plane"
	err := filepath.WalkDir(made, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(made, path)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, File{
			Path: filepath.Join(kubeadmFolder(name), name), Mode: uint32(info.Mode().Perm()),
			User: "root", Group: "root", Content: content,
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, dir := range kubeadmDirs {
		if dir.Path != "/var/lib/etcd" || m.File("/etc/kubernetes/manifests/etcd.yaml") != nil {
			m.Dirs = append(m.Dirs, dir)
		}
	}
	if err := addKubeletCommand(m); err != nil {
		return nil, err
	}
	return m, addObjects(m, said)
}

// kubeadmDirs are the folders that kubeadm or its packages make; a dry run does not show them.
// Modes as of cmd/kubeadm/app in 1.34 to 1.37.
var kubeadmDirs = []File{
	{Path: "/etc/kubernetes", Mode: 0o755, User: "root", Group: "root"},
	{Path: "/etc/kubernetes/manifests", Mode: 0o700, User: "root", Group: "root"},
	{Path: "/etc/kubernetes/pki", Mode: 0o755, User: "root", Group: "root"},
	{Path: "/var/lib/etcd", Mode: 0o700, User: "root", Group: "root"},
	{Path: "/var/lib/kubelet", Mode: 0o700, User: "root", Group: "root"},
	{Path: "/var/lib/kubelet/pki", Mode: 0o755, User: "root", Group: "root"},
}

// kubeadmFolder says where a file of a dry run belongs.
func kubeadmFolder(name string) string {
	ofKubelet := []string{"config.yaml", "instance-config.yaml", "kubeadm-flags.env"}
	switch {
	case slices.Contains(ofKubelet, name):
		return "/var/lib/kubelet"
	case strings.HasSuffix(name, ".yaml"):
		return "/etc/kubernetes/manifests"
	case strings.HasSuffix(name, ".conf"):
		return "/etc/kubernetes"
	}
	return "/etc/kubernetes/pki"
}

// addKubeletCommand adds the drop-in of the kubelet's package, with its variables filled in.
func addKubeletCommand(m *Machine) error {
	env := m.File("/var/lib/kubelet/kubeadm-flags.env")
	if env == nil {
		return errors.New("kubeadm wrote no kubeadm-flags.env")
	}
	args := strings.TrimPrefix(string(env.Content), `KUBELET_KUBEADM_ARGS="`)
	args = strings.TrimSuffix(args, "\"\n")
	m.Files = append(m.Files, File{
		Path: kubeletDropIn, Mode: 0o644, User: "root", Group: "root",
		Content: fmt.Appendf(nil, "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet %s %s %s %s\n",
			"--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf",
			"--kubeconfig=/etc/kubernetes/kubelet.conf",
			"--config=/var/lib/kubelet/config.yaml", args),
	})
	return nil
}

// createdObject finds the objects that a dry run says it would make.
var createdObject = regexp.MustCompile(
	`(?s)Would perform action CREATE on resource "[^"]*" in API group "[^"]*"\n` +
		`\[dryrun\] Attached object:\n(.*?)\n\n`)

// addObjects adds the API objects that kubeadm makes: those of the dry run, the labels and taints
// of the Node, and the binding of the administrators, which kubeadm makes with another client.
func addObjects(m *Machine, said string) error {
	var objects []string
	for _, match := range createdObject.FindAllStringSubmatch(said, -1) {
		objects = append(objects, match[1])
	}
	if len(objects) == 0 {
		return errors.New("kubeadm made no objects")
	}
	binding, err := administrators()
	if err != nil {
		return err
	}
	for i, object := range append(objects, binding) {
		m.Files = append(m.Files,
			File{Path: fmt.Sprintf("%s/%03d.yaml", objectsDir, i), Content: []byte(object)})
	}
	node, err := yaml.Marshal(markedNode(said))
	m.Files = append(m.Files, File{Path: nodeObject, Content: node})
	return err
}

// marked finds what a dry run says of the Node.
var marked = regexp.MustCompile(
	`Marking the node (\S+) as control-plane by adding the (labels|taints):? \[([^]]*)\]`,
)

// markedNode is the Node with the labels and taints of a control plane.
func markedNode(said string) *corev1.Node {
	node := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
	node.Labels = map[string]string{}
	for _, match := range marked.FindAllStringSubmatch(said, -1) {
		node.Name = match[1]
		for _, word := range strings.Fields(match[3]) {
			if match[2] == "labels" {
				node.Labels[word] = ""
				continue
			}
			key, effect, _ := strings.Cut(word, ":")
			node.Spec.Taints = append(node.Spec.Taints,
				corev1.Taint{Key: key, Effect: corev1.TaintEffect(effect)})
		}
	}
	return node
}

// administrators is the binding that gives admin.conf its rights.
func administrators() (string, error) {
	client, ctx := fake.NewClientset(), context.Background()
	_, err := kubeconfig.EnsureAdminClusterRoleBindingImpl(
		ctx, client, nil, time.Millisecond, time.Second)
	if err != nil {
		return "", err
	}
	name := constants.ClusterAdminsGroupAndClusterRoleBinding
	binding, err := client.RbacV1().ClusterRoleBindings().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	binding.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"))
	binding.ManagedFields = nil // the fake client's
	text, err := yaml.Marshal(binding)
	return string(text), err
}
