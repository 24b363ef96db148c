package announce

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const cluster = "0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11"

var (
	one   = &Machine{Name: "cp-1"}
	two   = &Machine{Name: "cp-2"}
	blue  = &Machine{Name: "blue", Pool: true}
	keyOf = map[*Machine][]byte{
		one: []byte("the key of one"), two: []byte("the key of two"), blue: []byte("of the pool"),
	}
)

// status returns a state in JSON, as the hook writes it, with some changes.
func status(phase, step string, changes ...string) string {
	text := fmt.Sprintf(`{"phase":"%s","step":"%s","node":"","cluster":"","document":"",`+
		`"uptime":12,"steps":{"files":1},"waiting":"",`+
		`"faults":[]}`, phase, step)
	for i := 0; i < len(changes); i += 2 {
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	return text
}

const aFault = `"faults":[{"code":"swap","object":"swap-off","evidence":"on","remedy":"off"}]`

// sealed returns what a machine with this key sends.
func sealed(key []byte, text, nonce string) []byte {
	text += " " + nonce
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return []byte(hex.EncodeToString(h.Sum(nil)) + macEnd + text)
}

// send announces a state as a machine does.
func send(b *Board, m *Machine, text string) error {
	_, _, err := b.Take(m, keyOf[m], sealed(keyOf[m], text, b.Nonce(m)), "10.0.0.11")
	return err
}

func requireRefused(t *testing.T, err error, suspect bool, reason string) {
	t.Helper()
	var refusal *Refusal
	require.ErrorAs(t, err, &refusal)
	require.Contains(t, refusal.Reason, reason)
	require.Equal(t, suspect, refusal.Suspect, reason)
}

// TestHostile: nothing is taken but what a machine with its own key sends once, with a nonce that
// it just got.
func TestHostile(t *testing.T) {
	t.Parallel()
	b := New(cluster, nil, 100, nil)
	good := status("running", "files")
	take := func(m *Machine, sent []byte) error {
		_, _, err := b.Take(m, keyOf[m], sent, "10.0.0.99")
		return err
	}
	// Forged.
	for _, sent := range [][]byte{
		nil, []byte("x"), []byte(good), bytes.Repeat([]byte("0"), 64),
		[]byte(strings.Repeat("0", 64) + macEnd), []byte(strings.Repeat("0", 64) + "  -&" + good),
		[]byte(strings.Repeat("z", 64) + macEnd + good + " " + b.Nonce(one)),
		sealed([]byte("another key"), good, b.Nonce(one)),
		sealed(keyOf[two], good, b.Nonce(one)), sealed(nil, good, b.Nonce(one)),
		bytes.Replace(sealed(keyOf[one], good, b.Nonce(one)), []byte("files"), []byte("start"), 1),
		bytes.Repeat([]byte("0"), MaxSent+1),
	} {
		requireRefused(t, take(one, sent), true, "")
	}
	// With a wrong nonce.
	for _, nonce := range []string{
		"", "00", "zz", b.Nonce(two), b.Nonce(&Machine{Name: "cp-1", Pool: true}),
		New(cluster, nil, 1, nil).Nonce(one), b.Nonce(one)[:46], b.Nonce(one) + "00",
	} {
		requireRefused(t, take(one, sealed(keyOf[one], good, nonce)), false, "nonce")
	}
	// Of another machine or cluster.
	requireRefused(t, send(b, one, status("running", "files", `"node":""`, `"node":"cp-2"`)),
		true, "another machine")
	requireRefused(t, send(b, one, status("running", "files", `"cluster":""`, `"cluster":"x"`)),
		true, "another cluster")
	require.Empty(t, b.Rows())

	// Replayed, and late.
	before := sealed(keyOf[one], status("waiting", "kubelet"), b.Nonce(one))
	sent := sealed(keyOf[one], good, b.Nonce(one))
	require.NoError(t, take(one, sent))
	requireRefused(t, take(one, sent), true, "came before")
	requireRefused(t, take(one, before), true, "newer one")
	requireRefused(t, take(two, sent), true, "key")
	require.Len(t, b.Rows(), 1)
	require.Equal(t, "files", b.Rows()[0].Status.Step)

	// A new server does not know the nonces of the old one, so that nothing comes twice.
	again := New(cluster, []Machine{*one}, 100, b.Rows())
	require.Equal(t, b.Rows(), again.Rows())
	_, _, err := again.Take(one, keyOf[one], sent, "10.0.0.99")
	requireRefused(t, err, false, "this server's")
}

// TestOldNonce: a nonce is good for a minute.
func TestOldNonce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(cluster, nil, 100, nil)
		sent := func() []byte {
			return sealed(keyOf[one], status("running", "files"), b.Nonce(one))
		}
		young, old := sent(), sent()
		time.Sleep(lifetime)
		_, _, err := b.Take(one, keyOf[one], young, "10.0.0.11")
		require.NoError(t, err)
		time.Sleep(time.Second)
		_, _, err = b.Take(one, keyOf[one], old, "10.0.0.11")
		requireRefused(t, err, false, "too old")
	})
}

// TestPace: one machine may announce as often as a first boot does, and not much more. Others are
// not held up.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(cluster, nil, 100, nil)
		for range burst {
			require.NoError(t, send(b, one, status("running", "files")))
		}
		requireRefused(t, send(b, one, status("running", "files")), false, "too often")
		require.NoError(t, send(b, two, status("running", "files")))
		time.Sleep(everyNext)
		require.NoError(t, send(b, one, status("running", "files")))
	})
}

// TestPool: the machines of a pool are told apart by the names that they claim, and before they
// have one by their addresses. Each nonce counts once for all of them, and there are no more than
// the limit.
func TestPool(t *testing.T) {
	t.Parallel()
	b := New(cluster, []Machine{*blue}, 2, nil)
	take := func(text, nonce, address string) error {
		_, _, err := b.Take(blue, keyOf[blue], sealed(keyOf[blue], text, nonce), address)
		return err
	}
	named := func(name string) string {
		return status("running", "kubelet", `"node":""`, `"node":"`+name+`"`)
	}
	names := func() (list []string) {
		for _, r := range b.Rows() {
			list = append(list, r.Pool+"/"+r.Machine)
		}
		return list
	}
	nonce := b.Nonce(blue)
	require.NoError(t, take(status("running", "files"), nonce, "10.8.0.1"))
	require.Equal(t, []string{"blue/10.8.0.1"}, names())
	// A nonce is of all machines of the pool.
	requireRefused(t, take(status("running", "files"), nonce, "10.8.0.2"), true, "came before")
	requireRefused(t, take(named("b"), nonce, "10.8.0.2"), true, "came before")
	require.NoError(t, take(named("a"), b.Nonce(blue), "10.8.0.1"))
	require.Equal(t, []string{"blue/a"}, names())
	require.NoError(t, take(named("b"), b.Nonce(blue), "10.8.0.2"))
	requireRefused(t, take(named("c"), b.Nonce(blue), "10.8.0.3"), true, "--pool-limit")
	require.NoError(t, take(named("b"), b.Nonce(blue), "10.8.0.9"))
	require.Equal(t, []string{"blue/a", "blue/b"}, names())
	b.Forget([]string{"blue"})
	require.Empty(t, names())
	// As many as there may be, before any of them has a name; and two behind one address, whose
	// announcements overtake each other.
	first, second := b.Nonce(blue), b.Nonce(blue)
	require.NoError(t, take(status("running", "files"), second, "10.8.0.1"))
	require.NoError(t, take(status("running", "files"), first, "10.8.0.1"))
	require.NoError(t, take(status("running", "files"), b.Nonce(blue), "10.8.0.2"))
	requireRefused(t, take(named("c"), b.Nonce(blue), "10.8.0.3"), true, "--pool-limit")
	require.NoError(t, take(named("a"), b.Nonce(blue), "10.8.0.1"))
	require.NoError(t, take(named("b"), b.Nonce(blue), "10.8.0.2"))
	require.Equal(t, []string{"blue/a", "blue/b"}, names())
}

// TestStates: what is no status.json is refused: docs/status.schema.json says what is one.
func TestStates(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 401)
	for _, text := range []string{
		"", "null", "[]", "{}", `{"phase":"done"}`, "x", status("done", "done") + "{}",
		status("done", "done", `"phase"`, `"Phase"`),
		status("done", "done", `{"phase"`, `{"more":1,"phase"`),
		status("done", "done", `{"phase"`, `{"phase":"running","phase"`),
		status("done", "done", `"uptime":12`, `"uptime":null`),
		status("done", "done", `"uptime":12`, `"uptime":-1`),
		status("done", "done", `"uptime":12`, `"uptime":1.5`),
		status("done", "done", `"uptime":12`, `"uptime":1e300`),
		status("done", "done", `"uptime":12`, `"uptime":"12"`),
		status("done", "done", `"uptime":12,`, ``),
		status("over", "done"), status("done", "x"), status("", ""),
		status("done", "done", `"document":""`, `"document":"0"`),
		status("done", "done", `"node":""`, `"node":"\u001b[2J"`),
		status("done", "done", `"node":""`, `"node":"`+long[:254]+`"`),
		status("done", "done", `"files":1`, `"a":1`+numbered(65)),
		status("done", "done", `"waiting":""`, `"waiting":"`+"\x7f"+`"`),
		status("done", "done", `"waiting":""`, `"waiting":"é"`),
		status("done", "done", `"waiting":""`, `"waiting":"\""`),
		status("done", "done", `"waiting":""`, `"waiting":"`+long+`"`),
		status("done", "done", `"files":1`, `"files":-1`),
		status("done", "done", `"files":1`, `"Fi les":1`),
		status("done", "done", `"files":1`, `"files":1,"files":2`),
		status("done", "done", `"faults":[]`, `"faults":null`),
		status("done", "done", `"faults":[]`, `"faults":[{}]`),
		status("done", "done", `"faults":[]`, strings.Replace(aFault, "on", `\n`, 1)),
		status("done", "done", `"faults":[]`,
			strings.Replace(aFault, `"code"`, `"x":"","code"`, 1)),
		status("done", "done", `"faults":[]`, `"faults":[`+strings.Repeat("{},", 200)+`{}]`),
	} {
		_, err := parse([]byte(text))
		require.Error(t, err, "%s", text)
	}
	for _, text := range []string{
		status("done", "done"), status("stopped", "files", `"faults":[]`, aFault),
		status("running", "start", `"files":1`, ``, `"kubelet":"v1.36.3"`, ``),
	} {
		s, err := parse([]byte(text))
		require.NoError(t, err, "%s", text)
		out, err := json.Marshal(s)
		require.NoError(t, err)
		require.JSONEq(t, text, string(out))
	}
}

// numbered returns n members of a JSON object.
func numbered(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf(`,"b%d":1`, i)
	}
	return text
}

// TestSchema: the phases and steps are those of the schema.
func TestSchema(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../../docs/status.schema.json")
	require.NoError(t, err)
	var schema struct {
		Properties map[string]struct{ Enum []string }
	}
	require.NoError(t, json.Unmarshal(data, &schema))
	require.Equal(t, schema.Properties["step"].Enum, steps)
	require.ElementsMatch(t, schema.Properties["phase"].Enum,
		[]string{running, waiting, stopped, done})
}

// TestMany: two hundred machines announce at once, each its whole boot.
func TestMany(t *testing.T) {
	t.Parallel()
	b := New(cluster, nil, 100, nil)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			m := &Machine{Name: fmt.Sprintf("worker-%d", i)}
			for _, step := range steps[:20] {
				sent := sealed([]byte(m.Name), status("running", step), b.Nonce(m))
				if _, _, err := b.Take(m, []byte(m.Name), sent, "10.0.0.1"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	rows := b.Rows()
	require.Len(t, rows, 200)
	for _, r := range rows {
		require.Equal(t, steps[19], r.Status.Step)
	}
}

// TestWait: a wait ends when all machines are done, soon after one stopped, or with its time.
func TestWait(t *testing.T) {
	t.Parallel()
	document := strings.Repeat("a", 64)
	other := strings.Repeat("b", 64)
	machines := []Machine{
		{Name: "cp-1", Document: document}, {Name: "cp-2"}, {Name: "blue", Pool: true},
	}
	isDone, stops := status("done", "done"), status("stopped", "files", `"faults":[]`, aFault)
	isRunning := status("running", "files")
	doneWith := func(document string) string {
		return status("done", "done", `"document":""`, `"document":"`+document+`"`)
	}
	type event struct {
		m    *Machine
		text string
	}
	for name, row := range map[string]struct {
		earlier, events []event
		want            Result
		seconds         int // that the wait takes at most
	}{
		"all done": {nil, []event{{one, isDone}, {two, isDone}}, AllDone, 3},
		"one was done": {
			[]event{{one, isDone}}, []event{{two, isDone}}, AllDone, 3,
		},
		"one is missing": {nil, []event{{one, isDone}}, TimeOver, 101},
		"one stops":      {nil, []event{{one, stops}}, SomeStopped, 8},
		"one stops and is mended": {
			nil, []event{{one, stops}, {one, isDone}, {two, isDone}}, AllDone, 4,
		},
		"one had stopped": {[]event{{one, stops}}, []event{{two, isRunning}}, TimeOver, 101},
		"one had stopped, as the last": {
			[]event{{one, stops}}, []event{{two, isDone}}, SomeStopped, 3,
		},
		"interrupted": {
			nil, []event{{one, status("stopped", "files")}, {two, isDone}}, TimeOver, 101,
		},
		"with another document": {
			nil, []event{{one, doneWith(other)}, {two, isDone}}, TimeOver, 101,
		},
		"with its document": {
			nil, []event{{one, doneWith(document)}, {two, isDone}}, AllDone, 3,
		},
		"a pool's machine comes": {
			nil, []event{{blue, isRunning}, {one, isDone}, {two, isDone}}, TimeOver, 101,
		},
		"a pool's machine is done": {
			nil, []event{{blue, isDone}, {one, isDone}, {two, isDone}}, AllDone, 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				before := New(cluster, nil, 100, nil)
				for _, e := range row.earlier {
					require.NoError(t, send(before, e.m, e.text))
				}
				b := New(cluster, machines, 100, before.Rows())
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
				defer cancel()
				go func() {
					for _, e := range row.events {
						time.Sleep(time.Second)
						if err := send(b, e.m, e.text); err != nil {
							t.Error(err)
						}
					}
				}()
				began := time.Now()
				require.Equal(t, row.want, NewView(b, machines, nil, nil).Wait(ctx))
				require.LessOrEqual(t, time.Since(began), time.Duration(row.seconds)*time.Second)
				synctest.Wait()
			})
		})
	}
}

// TestTable: the table is as wide as its terminal and no longer than it, names what a machine waits
// for and each fault with its remedy, the worst first, and a name commands no terminal.
func TestTable(t *testing.T) {
	t.Parallel()
	machines := []Machine{
		{Name: "cp-1"}, {Name: "cp-2"}, {Name: "worker-1"}, {Name: "blue", Pool: true},
	}
	b := New(cluster, machines, 100, nil)
	var out bytes.Buffer
	width, height := 60, 24
	v := NewView(b, machines, &out, func() (int, int) { return width, height })
	require.NoError(t, send(b, one, status("done", "done")))
	require.NoError(t, send(b, two, status("stopped", "preflight", `"faults":[]`,
		strings.Replace(aFault, "on", strings.Repeat("on and ", 20)+"on", 1))))
	require.NoError(t, send(b, blue, status("waiting", "kubelet", `"waiting":""`,
		`"waiting":"kubelet: no answer"`)))
	v.draw(v.entries(), false)
	first := out.String()
	require.NotContains(t, first, "\x1b")
	lines := strings.Split(strings.TrimSuffix(first, "\n"), "\n")
	words := strings.Join(strings.Fields(first), " ")
	require.True(t, strings.HasPrefix(words, "1 of 4 machines done, 1 stopped, 1 waiting, "+
		"1 not heard of, after 0s MACHINE PHASE STEP SINCE cp-2 stopped preflight 0s "), first)
	require.Contains(t, words, "blue/10.0.0.11 waiting kubelet 0s kubelet: no answer")
	require.Less(t, strings.Index(first, "cp-2"), strings.Index(first, "blue/10.0.0.11"))
	require.Less(t, strings.Index(first, "worker-1"), strings.Index(first, "cp-1"))
	require.Contains(t, words, "swap swap-off: on and on")
	require.Contains(t, words, "on and on; off")
	for _, line := range lines {
		require.LessOrEqual(t, len(line), width)
	}
	out.Reset()
	height = 8
	v.draw(v.entries(), false)
	require.True(t, strings.HasPrefix(out.String(), fmt.Sprintf("\x1b[%dA\x1b[J", len(lines))))
	require.Equal(t, height-2, strings.Count(out.String(), "\n"))
	out.Reset()
	v.Note("kiln: \x1b[2J")
	require.Equal(t, fmt.Sprintf("\x1b[%dA\x1b[J", height-2)+`kiln: \u001b[2J`+"\n", out.String())
}
