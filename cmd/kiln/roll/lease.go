package roll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kiln.dev/kiln/cmd/kiln/apiserver"
	"kiln.dev/kiln/render/text/wording"
)

// Where the Lease is, and the annotation with what was done and nothing else in the cluster says.
const (
	leaseName        = "kiln-roll"
	leasesPath       = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
	leasePath        = leasesPath + "/" + leaseName
	memoryAnnotation = "kiln.dev/roll"
)

// A Lease that nobody has renewed for leaseTime is free.
const (
	leaseTime = 30 * time.Second
	renewTime = 8 * time.Second
)

// lease keeps another kiln roll away, and remembers.
type lease struct {
	client *apiserver.Client
	holder string
	mutex  sync.Mutex
	memory memory
	wrote  time.Time // when it was renewed last
}

// memory is what was done for one target.
type memory struct {
	Target string   `json:"target"`
	Done   []string `json:"done,omitempty"`  // machines, each with the digest of its document
	Steps  []string `json:"steps,omitempty"` // keys of steps
}

// errHeld comes if another kiln roll holds the Lease.
var errHeld = errors.New("another kiln roll holds the Lease kube-system/" + leaseName)

// take takes the Lease. If somebody holds it, take waits for leaseTime, and fails if it is renewed
// meanwhile.
func (r *roller) take(ctx context.Context) (*lease, error) {
	who, _ := user.Current()
	host, _ := os.Hostname()
	if who == nil {
		who = &user.User{Username: "somebody"}
	}
	l := &lease{client: r.client, holder: fmt.Sprintf("%s on %s, process %d, %s", who.Username,
		host, os.Getpid(), time.Now().UTC().Format(time.RFC3339Nano))}
	seen, since := "", time.Time{}
	for {
		var now *coordinationv1.Lease
		err := r.waitFor(ctx, "", "the API server", func() (err error) {
			now, err = l.read(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
		holder := ""
		if now.Spec.HolderIdentity != nil {
			holder = wording.VisibleLine(*now.Spec.HolderIdentity, 200)
		}
		switch {
		case holder == "" || seen == now.ResourceVersion && time.Since(since) > leaseTime:
			_ = json.Unmarshal([]byte(now.Annotations[memoryAnnotation]), &l.memory)
			if l.memory.Target != r.digestOfAll {
				l.memory = memory{Target: r.digestOfAll}
			}
			if err = l.write(ctx, now, l.holder); !hasCode(err, http.StatusConflict) {
				return l, err
			}
		case seen == "":
			seen, since = now.ResourceVersion, time.Now()
			r.log.say("wait", "", "", fmt.Sprintf("%s holds the Lease kube-system/%s; it is free "+
				"if nobody renews it for %s", holder, leaseName, leaseTime))
		case seen != now.ResourceVersion:
			return nil, fmt.Errorf("%w: %s; wait until it ends, or stop it", errHeld, holder)
		}
		if err := sleep(ctx, pollTime); err != nil {
			return nil, err
		}
	}
}

// read returns the Lease as it is, or a new one.
func (l *lease) read(ctx context.Context) (*coordinationv1.Lease, error) {
	now := &coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Name: leaseName, Namespace: "kube-system"},
	}
	text, err := l.client.Get(ctx, leasePath)
	if hasCode(err, http.StatusNotFound) {
		return now, nil
	}
	if err == nil {
		err = json.Unmarshal(text, now)
	}
	return now, err
}

// write writes the Lease with this holder. It fails if the Lease has changed since it was read.
func (l *lease) write(ctx context.Context, now *coordinationv1.Lease, holder string) error {
	memory, err := json.Marshal(l.memory)
	if err != nil {
		return err
	}
	now.Annotations = map[string]string{memoryAnnotation: string(memory)}
	seconds, renewed := int32(leaseTime/time.Second), metav1.NowMicro()
	now.Spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds,
		RenewTime: &renewed}
	method, path := http.MethodPut, leasePath
	if now.ResourceVersion == "" {
		method, path = http.MethodPost, leasesPath
	}
	at := time.Now()
	if _, err = l.client.Send(ctx, method, path, now); err == nil {
		l.wrote = at
	}
	return err
}

// renew writes the Lease again with a holder: its own name, or none to give it back. It fails with
// errHeld if somebody else has it.
func (l *lease) renew(ctx context.Context, holder string) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now, err := l.read(ctx)
	switch {
	case err != nil:
		return err
	case now.Spec.HolderIdentity == nil || *now.Spec.HolderIdentity != l.holder:
		return errHeld
	}
	return l.write(ctx, now, holder)
}

// keep renews the Lease until the context ends, and ends that if somebody else has the Lease.
func (l *lease) keep(ctx context.Context, lost context.CancelCauseFunc) {
	for sleep(ctx, renewTime) == nil {
		limited, cancel := context.WithTimeout(ctx, renewTime)
		if err := l.renew(limited, l.holder); errors.Is(err, errHeld) {
			lost(err)
		}
		cancel()
	}
}

// hold waits until the Lease is sure to be held while something begins: keep could not renew it
// while the API server was away.
func (r *roller) hold(ctx context.Context) error {
	if r.lease == nil || r.lease.isFresh() {
		return nil
	}
	return r.renew(ctx)
}

func (l *lease) isFresh() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return time.Since(l.wrote) < leaseTime-renewTime
}

// renew writes the Lease with its memory, also if the API server is away for a while.
func (r *roller) renew(ctx context.Context) error {
	return r.waitFor(ctx, "", "the Lease", func() error {
		return r.lease.renew(ctx, r.lease.holder)
	})
}

// change changes the memory.
func (l *lease) change(change func(*memory)) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	change(&l.memory)
}

// recall returns a copy of the memory.
func (l *lease) recall() (m memory) {
	if l != nil {
		l.change(func(now *memory) {
			m = memory{now.Target, slices.Clone(now.Done), slices.Clone(now.Steps)}
		})
	}
	return m
}

// hasCode reports whether an error is an answer with this code.
func hasCode(err error, code int) bool {
	var status *apiserver.StatusError
	return errors.As(err, &status) && status.Code == code
}
