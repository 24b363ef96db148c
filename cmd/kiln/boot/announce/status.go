package announce

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
)

// Status is /var/lib/kiln/status.json: docs/status.schema.json describes it.
type Status struct {
	Phase    string           `json:"phase"`
	Step     string           `json:"step"`
	Node     string           `json:"node"`
	Cluster  string           `json:"cluster"`
	Document string           `json:"document"`
	Uptime   int64            `json:"uptime"`
	Steps    map[string]int64 `json:"steps"`
	Waiting  string           `json:"waiting"`
	Faults   []Fault          `json:"faults"`
}

// Fault is why a first boot stopped or waits too long.
type Fault struct {
	Code     string `json:"code"`
	Object   string `json:"object"`
	Evidence string `json:"evidence"`
	Remedy   string `json:"remedy"`
}

// The phases of a first boot.
const (
	running = "running"
	waiting = "waiting"
	stopped = "stopped"
	done    = "done"
)

// steps are the steps of the hook.
var steps = []string{
	"start", "files", "pre-boot", "machine", "fetch", "extend", "packages", "preload", "preflight",
	"name", "restore", "others", "etcd", "kubelet", "member", "ready", "objects", "control-plane",
	"node", "labels", "role", "network", "post-boot", "done",
}

// Bounds of a status.
const (
	maxText    = 400 // characters of a string
	maxName    = 253 // characters of a Node's name
	maxKeys    = 64  // steps
	maxFaults  = 300 // a control plane has one for each object that is refused
	maxNumbers = 1 << 40
)

var (
	plain    = regexp.MustCompile(`^[ !#-\[\]-~]*$`) // printable ASCII without " and \
	document = regexp.MustCompile(`^([0-9a-f]{64})?$`)
	keyName  = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
)

// equal reports whether two states are the same.
func (s *Status) equal(o *Status) bool {
	return s.Phase == o.Phase && s.Step == o.Step && s.Node == o.Node && s.Cluster == o.Cluster &&
		s.Document == o.Document && s.Uptime == o.Uptime && maps.Equal(s.Steps, o.Steps) &&
		s.Waiting == o.Waiting && slices.Equal(s.Faults, o.Faults)
}

// halted reports whether a person is needed. A hook that was interrupted stops without faults.
func (s *Status) halted() bool { return s.Phase == stopped && len(s.Faults) > 0 }

// parse reads a status strictly: each key is there once and no other, and each value is one that a
// hook writes.
func parse(data []byte) (*Status, error) {
	fields, err := object(data)
	if err != nil {
		return nil, err
	}
	want := []string{
		"phase", "step", "node", "cluster", "document", "uptime", "steps", "waiting", "faults",
	}
	if !sameKeys(fields, want) {
		return nil, errors.New("its keys are not those of a state")
	}
	inner, err := object(fields["steps"])
	if err != nil {
		return nil, err
	}
	if len(inner) > maxKeys {
		return nil, errors.New("it has too many steps")
	}
	for key := range inner {
		if !keyName.MatchString(key) {
			return nil, errNotPlain
		}
	}
	var list []json.RawMessage
	if err := json.Unmarshal(fields["faults"], &list); err != nil || list == nil {
		return nil, errors.New("its faults are no list")
	}
	if len(list) > maxFaults {
		return nil, errors.New("it has too many faults")
	}
	for _, fault := range list {
		inner, err := object(fault)
		if err != nil {
			return nil, err
		}
		if !sameKeys(inner, []string{"code", "object", "evidence", "remedy"}) {
			return nil, errors.New("a fault has other keys")
		}
	}
	s := &Status{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, errors.New("a value has another type")
	}
	return s, s.check()
}

// check returns what is wrong with the values of a status.
func (s *Status) check() error {
	switch {
	case !slices.Contains([]string{running, waiting, stopped, done}, s.Phase):
		return errors.New("it has no phase")
	case !slices.Contains(steps, s.Step):
		return errors.New("it has no step of the hook")
	case !document.MatchString(s.Document):
		return errors.New("its document is no SHA-256")
	case len(s.Node) > maxName:
		return errors.New("its name is too long for a Node")
	}
	numbers := append(slices.Collect(maps.Values(s.Steps)), s.Uptime)
	if slices.Min(numbers) < 0 || slices.Max(numbers) > maxNumbers {
		return errors.New("a number of seconds is none")
	}
	texts := []string{s.Node, s.Cluster, s.Waiting}
	for _, f := range s.Faults {
		texts = append(texts, f.Code, f.Object, f.Evidence, f.Remedy)
	}
	for _, text := range texts {
		if len(text) > maxText || !plain.MatchString(text) {
			return errNotPlain
		}
	}
	return nil
}

// object returns the values of a JSON object by their keys. It fails if data is anything else, has
// something after the object, or a key twice.
func object(data []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is no object of JSON")
	}
	out := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return nil, errors.New("it is no JSON")
		}
		if _, twice := out[name]; twice || string(value) == "null" {
			return nil, errors.New("it has a key twice, or one without a value")
		}
		out[name] = value
	}
	if t, err := d.Token(); err != nil || t != json.Delim('}') {
		return nil, errors.New("it is cut off")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("it has something after its end")
	}
	return out, nil
}

func sameKeys(fields map[string]json.RawMessage, want []string) bool {
	for _, key := range want {
		if _, ok := fields[key]; !ok {
			return false
		}
	}
	return len(fields) == len(want)
}
