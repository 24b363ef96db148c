package render_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"

	"kiln.dev/kiln/render/kube/flags"
)

// shape is what a value has to be.
type shape string

const (
	integer  shape = "integer"
	boolean  shape = "boolean"
	word     shape = "word" // one of a few
	free     shape = "string"
	duration shape = "duration"
	quantity shape = "quantity"
	list     shape = "list"
	mapping  shape = "map"
)

// field is a field of an object, with values that it may have.
type field struct {
	name  string
	shape shape
	good  []any
}

// place is where fields can be set: below a path of a document.
type place struct {
	name   string
	fields []field
	put    func(name string, value any) variation
}

var places = []place{
	{"kube-apiserver's pod", podFields, func(name string, value any) variation {
		return patch("v1", "Pod", "kube-apiserver", map[string]any{name: value})
	}},
	{"kube-scheduler's container", containerFields, func(name string, value any) variation {
		return patch("v1", "Pod", "kube-scheduler", map[string]any{"containers": []any{
			map[string]any{"name": "kube-scheduler", name: value},
		}})
	}},
	{"kube-proxy's pods", podFields, func(name string, value any) variation {
		return patch("apps/v1", "DaemonSet", "kube-proxy", map[string]any{
			"template": map[string]any{"spec": map[string]any{name: value}},
		})
	}},
	{"coredns' container", containerFields, func(name string, value any) variation {
		return patch("apps/v1", "Deployment", "coredns", map[string]any{
			"template": map[string]any{"spec": map[string]any{"containers": []any{
				map[string]any{"name": "coredns", name: value},
			}}},
		})
	}},
	{"the kubelet's settings", kubeletFields, func(name string, value any) variation {
		return variation{config: map[string]any{
			"workers": map[string]any{"machines": map[string]any{
				"kubelet": map[string]any{name: value},
			}},
		}}
	}},
	{"a patch of the kubelet's settings", kubeletFields, func(name string, value any) variation {
		v := patch("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration", "kubelet", nil)
		v.patch[name] = value
		return v
	}},
	{"an add-on's Deployment", deploymentFields, func(name string, value any) variation {
		return variation{addon: deployment(map[string]any{name: value}, nil)}
	}},
	{"an add-on's container", containerFields, func(name string, value any) variation {
		return variation{addon: deployment(nil, map[string]any{name: value})}
	}},
	{"an add-on's Service", serviceFields, func(name string, value any) variation {
		return variation{addon: map[string]any{
			"apiVersion": "v1", "kind": "Service",
			"metadata": map[string]any{"name": "a", "namespace": "kube-system"},
			"spec": map[string]any{
				"selector": map[string]any{"app": "a"}, "ports": []any{map[string]any{"port": 80}},
				name: value,
			},
		}}
	}},
}

var podFields = []field{
	{"terminationGracePeriodSeconds", integer, []any{31, 45}},
	{"hostname", free, []any{"some-name"}},
	{"schedulerName", free, []any{"other-scheduler"}},
	{"enableServiceLinks", boolean, []any{false}},
	{"setHostnameAsFQDN", boolean, []any{true}},
	{"nodeSelector", mapping, []any{map[string]any{"zone": "a"}}},
	{"tolerations", list, []any{[]any{map[string]any{"key": "x", "operator": "Exists"}}}},
	{"hostAliases", list, []any{
		[]any{map[string]any{"ip": "10.0.0.1", "hostnames": []any{"a.example.com"}}},
	}},
}

var containerFields = []field{
	{"imagePullPolicy", word, []any{"Always", "Never"}},
	{"terminationMessagePath", free, []any{"/dev/other"}},
	{"terminationMessagePolicy", word, []any{"FallbackToLogsOnError"}},
	{"tty", boolean, []any{true}},
	{"stdin", boolean, []any{true}},
	{"stdinOnce", boolean, []any{true}},
	{"workingDir", free, []any{"/tmp", "/"}},
	{"env", list, []any{[]any{map[string]any{"name": "A", "value": "b"}}}},
	{"resources", mapping, []any{
		map[string]any{"requests": map[string]any{"cpu": "310m", "memory": "99Mi"}},
	}},
}

var kubeletFields = []field{
	{"maxPods", integer, []any{50, 100}},
	{"podPidsLimit", integer, []any{4000}},
	{"eventRecordQPS", integer, []any{10}},
	{"eventBurst", integer, []any{50}},
	{"registryPullQPS", integer, []any{11}},
	{"registryBurst", integer, []any{21}},
	{"kubeAPIBurst", integer, []any{150}},
	{"imageGCLowThresholdPercent", integer, []any{60}},
	{"containerLogMaxFiles", integer, []any{7}},
	{"containerLogMaxSize", quantity, []any{"50Mi", "1Gi"}},
	{"nodeStatusUpdateFrequency", duration, []any{"20s"}},
	{"evictionPressureTransitionPeriod", duration, []any{"6m"}},
	{"imageMinimumGCAge", duration, []any{"5m"}},
	{"topologyManagerPolicy", word, []any{"best-effort", "restricted"}},
	{"hairpinMode", word, []any{"hairpin-veth", "none"}},
	{"serializeImagePulls", boolean, []any{false}},
	{"enableDebuggingHandlers", boolean, []any{false}},
	{"allowedUnsafeSysctls", list, []any{[]any{"net.core.somaxconn"}}},
	{"evictionHard", mapping, []any{map[string]any{"memory.available": "200Mi"}}},
}

var deploymentFields = []field{
	{"replicas", integer, []any{2, 3}},
	{"minReadySeconds", integer, []any{5}},
	{"revisionHistoryLimit", integer, []any{3}},
	{"progressDeadlineSeconds", integer, []any{300}},
	{"paused", boolean, []any{true}},
	{"strategy", mapping, []any{map[string]any{"type": "Recreate"}}},
}

var serviceFields = []field{
	{"sessionAffinity", word, []any{"ClientIP"}},
	{"publishNotReadyAddresses", boolean, []any{true}},
	{"internalTrafficPolicy", word, []any{"Local"}},
	{"ipFamilyPolicy", word, []any{"SingleStack"}},
	{"externalIPs", list, []any{[]any{"192.0.2.1"}}},
	{"type", word, []any{"NodePort", "LoadBalancer"}},
}

// bad are values of a wrong type or shape.
var bad = map[shape][]any{
	integer:  {"many", true, []any{}, map[string]any{"a": 1}, 1.5},
	boolean:  {"perhaps", 7, []any{true}, map[string]any{"a": true}},
	word:     {"nothing-like-it", 7, []any{"x"}, map[string]any{}},
	free:     {7, true, []any{"x"}, map[string]any{"a": "b"}},
	duration: {"soon", "5", true, []any{}},
	quantity: {"banana", "5MiB", true, []any{}},
	list:     {"x", 7, true, map[string]any{"a": "b"}},
	mapping:  {"x", 7, true, []any{"a"}},
}

// wrongVariations make something wrong, each of another kind.
var wrongVariations = []func(*rand.Rand) variation{
	func(r *rand.Rand) variation { // a field that is not there
		p, f := anyField(r)
		name := misspelt(r, f.name)
		return p.set(name, pick(r, f.good))
	},
	func(r *rand.Rand) variation { // a value that the field cannot have
		p, f := anyField(r)
		return p.set(f.name, pick(r, bad[f.shape]))
	},
	func(r *rand.Rand) variation { // a container without an image
		return pick(r, imageless)(fmt.Sprintf("other-%d", r.IntN(1000)))
	},
	func(r *rand.Rand) variation { // a flag that is not there
		f := pick(r, safeFlags)
		return f.set(misspelt(r, f.name), f.good)
	},
	func(r *rand.Rand) variation { // a flag of other minors
		return pick(r, foreignFlags())
	},
	func(r *rand.Rand) variation { // a flag with a wrong value
		f := pick(r, safeFlags)
		return f.set(f.name, pick(r, []string{"soon", "-", "0x", "1.2.3", "ten"}))
	},
	func(r *rand.Rand) variation { // a feature gate that is not there
		g := pick(r, gates(func(flags.Gate) bool { return true }))
		return gate(r, misspelt(r, g.Name), true)
	},
	func(r *rand.Rand) variation { // a feature gate that is locked
		g := pick(r, gates(func(g flags.Gate) bool { return g.Locked }))
		return gate(r, g.Name, !g.Default)
	},
}

// rightVariations make something that is other than usual, and right.
var rightVariations = []func(*rand.Rand) variation{
	func(r *rand.Rand) variation {
		p, f := anyField(r)
		return p.set(f.name, pick(r, f.good))
	},
	func(r *rand.Rand) variation {
		f := pick(r, safeFlags)
		return f.set(f.name, f.good)
	},
	func(r *rand.Rand) variation {
		g := pick(r, gates(func(g flags.Gate) bool {
			return !g.Locked && g.Stage == "beta" && len(g.Needs) == 0
		}))
		return gate(r, g.Name, g.Default)
	},
	func(r *rand.Rand) variation { // an object that a rule concerns, and allows
		return pick(r, allowedObjects)(fmt.Sprintf("o-%d", r.IntN(1000)))
	},
	func(r *rand.Rand) variation { // two fields of an add-on that no table has
		return variation{
			name: fmt.Sprintf("a custom object %d", r.IntN(1000)),
			addon: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Widget",
				"metadata": map[string]any{
					"name": fmt.Sprintf("w-%d", r.IntN(1000)), "namespace": "default",
				},
				"spec": map[string]any{"anything": []any{1, "two", true}},
			},
		}
	},
}

// allowedObjects are objects that come near to a rule, and keep it.
var allowedObjects = []func(name string) variation{
	func(name string) variation {
		return addon("v1", "Secret", name, map[string]any{
			"type": "kubernetes.io/tls",
			"data": map[string]any{"tls.crt": "YQ=="}, "stringData": map[string]any{"tls.key": "b"},
		})
	},
	func(name string) variation {
		return addon("v1", "Secret", name, map[string]any{
			"type":       "example.com/own",
			"stringData": map[string]any{".data.x_Y-z": "1"},
		})
	},
	func(name string) variation {
		return addon("v1", "ConfigMap", name, map[string]any{
			"data":       map[string]any{"a": "{{ .Values.x }}"},
			"binaryData": map[string]any{"b": "YQ=="},
		})
	},
	func(name string) variation {
		return addon("v1", "Service", name, map[string]any{"spec": map[string]any{
			"clusterIP": "None", "selector": map[string]any{"app": "a"},
			"ports": []any{
				map[string]any{"name": "http", "port": 80},
				map[string]any{"name": "https", "port": 443},
			},
		}})
	},
	func(name string) variation {
		return addon("v1", "Service", name, map[string]any{"spec": map[string]any{
			"type": "ExternalName", "externalName": "db.example.com",
		}})
	},
	func(name string) variation {
		return addon("rbac.authorization.k8s.io/v1", "RoleBinding", name, map[string]any{
			"roleRef": map[string]any{
				"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view",
			},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "a"}},
		})
	},
	func(name string) variation {
		return addon("v1", "Pod", name, map[string]any{"spec": map[string]any{
			"nodeName": "worker-1",
			"containers": []any{map[string]any{
				"name": "a", "image": "localhost:5000/a/b_c/d-e:Tag",
			}},
		}})
	},
}

// addon returns an add-on with one object in kube-system.
func addon(version, kind, name string, fields map[string]any) variation {
	object := map[string]any{
		"apiVersion": version, "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": "kube-system"},
	}
	maps.Copy(object, fields)
	return variation{name: kind + " " + name, addon: object}
}

// pick returns any one of some.
func pick[E any](r *rand.Rand, some []E) E { return some[r.IntN(len(some))] }

func anyField(r *rand.Rand) (*place, field) {
	p := &places[r.IntN(len(places))]
	return p, pick(r, p.fields)
}

// set returns the variation with a field, with its name.
func (p *place) set(name string, value any) variation {
	v := p.put(name, value)
	v.name = fmt.Sprintf("%s: %s: %v", p.name, name, value)
	return v
}

// misspelt returns a word with one slip of a finger in it.
func misspelt(r *rand.Rand, word string) string {
	i := 1 + r.IntN(len(word)-2)
	switch r.IntN(4) {
	case 0:
		return word[:i] + word[i+1:] + "q"
	case 1:
		return word[:i] + word[i:i+1] + word[i:] + "x"
	case 2:
		return word[:i] + "zz" + word[i:]
	default:
		return word + "s" + strings.ToLower(word[:1])
	}
}

// patch returns a strategic merge patch, with fields below spec.
func patch(version, kind, name string, spec map[string]any) variation {
	object := map[string]any{
		"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name},
	}
	if spec != nil {
		object["metadata"].(map[string]any)["namespace"] = "kube-system"
		object["spec"] = spec
	}
	return variation{patch: object}
}

func deployment(spec, container map[string]any) map[string]any {
	c := map[string]any{"name": "a", "image": "registry.example.com/a:1"}
	for key, value := range container {
		c[key] = value
	}
	s := map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "a"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "a"}},
			"spec":     map[string]any{"containers": []any{c}},
		},
	}
	for key, value := range spec {
		s[key] = value
	}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "a", "namespace": "kube-system"}, "spec": s,
	}
}

// imageless add a container that has no image.
var imageless = []func(name string) variation{
	func(name string) variation {
		v := patch("v1", "Pod", "kube-apiserver", map[string]any{
			"containers": []any{map[string]any{"name": name, "tty": true}},
		})
		v.name = "a container of kube-apiserver's pod: " + name
		return v
	},
	func(name string) variation {
		v := patch("apps/v1", "DaemonSet", "kube-proxy", map[string]any{
			"template": map[string]any{"spec": map[string]any{
				"initContainers": []any{map[string]any{"name": name, "command": []any{"true"}}},
			}},
		})
		v.name = "an init container of kube-proxy's pods: " + name
		return v
	},
	func(name string) variation {
		return variation{
			name:  "an add-on's container: " + name,
			addon: deployment(nil, map[string]any{"name": name, "image": nil}),
		}
	},
}
