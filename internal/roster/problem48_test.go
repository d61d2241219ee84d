package roster_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/tool"
)

// TestProblem48_AStalledAgentStopsItsSenderOnly has senders flood an agent that
// never reads, while two others talk and a viewer looks at one event a second.
func TestProblem48_AStalledAgentStopsItsSenderOnly(t *testing.T) {
	senders, letters := soak(4, 16), soak(4_000, 1_000_000)
	n, l := stalled(t, senders)
	viewer := n.Bus.Subscribe()
	defer viewer.Close()
	slow, look := newSlowViewer(t, viewer), make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() { slow.look(look) })

	before := talk(t, n, soak(100, 1000), func() bool { return true })
	heapBefore, rssBefore, begun := heap(), rss(t), time.Now()
	flood := flooding(t, n, senders, letters)
	during := talk(t, n, 100, flood.over)
	flood.wait()
	took := time.Since(begun)
	close(look)
	looking.Wait()

	heapAfter, rssAfter := heap(), rss(t)
	accepted, told := int(flood.accepted.Load()), int(flood.told.Load())
	// Of each sender DefaultLimit lie unread, and as many may lie in its outbox.
	if accepted < senders*mailbox.DefaultLimit || accepted > 2*senders*mailbox.DefaultLimit || accepted+told != letters {
		t.Errorf("%d accepted and %d told to wait, of %d", accepted, told, letters)
	}
	if took < time.Duration(told/senders)*time.Millisecond {
		t.Errorf("%d senders were refused %d times in %v: nothing holds them up", senders, told, took)
	}
	if grown := heapAfter - heapBefore; grown > 64<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if grown := rssAfter - rssBefore; grown > 256<<20 {
		t.Errorf("the process grew by %d bytes", grown)
	}
	t.Logf("%d letters of %d senders in %v: %d accepted, %d told that the mailbox is full", letters, senders, took.Round(time.Millisecond), accepted, told)
	t.Logf("resident size %d MiB before and %d MiB after, live heap %d and %d MiB", rssBefore>>20, rssAfter>>20, heapBefore>>20, heapAfter>>20)
	t.Logf("two others, message to request: before p50 %v p99 %v of %d; during p50 %v p99 %v of %d",
		at(before, 50), at(before, 99), len(before), at(during, 50), at(during, 99), len(during))
	t.Logf("the viewer has read %d events by then", slow.read)

	close(l.free)
	n.AwaitRest(t) // the sender's messages were held, not lost
	for i := range senders {
		from, _ := n.Find("sender" + strconv.Itoa(i))
		if _, err := roster.New(n.Coordinator).Send(from, team.Message{To: "stalled", Text: "and now?"}); err != nil {
			t.Errorf("once it reads: %v", err)
		}
	}
	n.AwaitRest(t)
	if got := strings.Count(all(t, n, "stalled"), "letter of "); got != accepted {
		t.Errorf("it read %d letters of %d", got, accepted)
	}
	turns := map[mailbox.AgentID]int{}
	for _, a := range n.Store.All() {
		if l := a.Record(); l.Turns > 0 {
			turns[a.ID()] = l.Turns
		}
	}
	slow.rest(len(before)+len(during)+accepted+senders, turns)
}

// stalled is a node with senders, two who talk, and one in a tool that does not
// end.
func stalled(t *testing.T, senders int) (*coordinatortest.Node, *long) {
	l := newLong()
	ok := func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say("ok") }
	m := coordinatortest.By(answers{
		"stalled": func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(coordinatortest.Call("l", "Long", nil))
			}
			return coordinatortest.Say("read")
		},
		"ben": ok, agent.LeadName: ok, "mate": ok,
	})
	o := options()
	o.Tools = []tool.Tool{l.tool()}
	n := coordinatortest.Start(t, m, o)
	specs := []agent.Spec{member("stalled"), member("ben"), member("ann")}
	for i := range senders {
		specs = append(specs, member("sender"+strconv.Itoa(i)))
	}
	must(t, n.SpawnIdle(t.Context(), specs))
	_, err := roster.New(n.Coordinator).Send(n.Lead, team.Message{To: "stalled", Text: "begin"})
	must(t, err)
	<-l.began
	return n, l
}

// flood is senders that do not stop when the mailbox is full.
type flood struct {
	accepted, told atomic.Int64
	group          sync.WaitGroup
	left           atomic.Int32
}

func (f *flood) over() bool { return f.left.Load() == 0 }
func (f *flood) wait()      { f.group.Wait() }

func flooding(t *testing.T, n *coordinatortest.Node, senders, letters int) *flood {
	t.Helper()
	f, r := &flood{}, roster.New(n.Coordinator)
	f.left.Store(int32(senders))
	for i := range senders {
		name := "sender" + strconv.Itoa(i)
		from, _ := n.Find(name)
		body := "letter of " + name + strings.Repeat(" x", 500)
		f.group.Go(func() {
			defer f.left.Add(-1)
			for range letters / senders {
				_, err := r.Send(from, team.Message{To: "stalled", Text: body})
				switch full := new(mailbox.FullError); {
				case err == nil:
					f.accepted.Add(1)
				case errors.As(err, &full):
					f.told.Add(1)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	return f
}

// talk has ann write to ben, one message after the other, at least so often and
// until it is enough, and not without a pause: what they keep of it is not the flood's.
// It returns how long each took to be in a request, shortest first.
func talk(t *testing.T, n *coordinatortest.Node, least int, enough func() bool) []time.Duration {
	t.Helper()
	r := roster.New(n.Coordinator)
	ann, _ := n.Find("ann")
	var took []time.Duration
	pause := time.NewTicker(time.Duration(soak(1, 20)) * time.Millisecond)
	defer pause.Stop()
	for ; len(took) < least || !enough(); <-pause.C {
		begun := time.Now()
		posted, err := r.Send(ann, team.Message{To: "ben", Text: "still there?"})
		must(t, err)
		n.Until(t, func() bool { s, _ := ann.Status(posted[0].ID); return s.State == mailbox.StateRead })
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	return took
}

func at(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent-1)/100].Round(time.Microsecond)
}

// slowViewer counts the events that must not be dropped for a viewer.
type slowViewer struct {
	t     *testing.T
	sub   *event.Subscription
	read  int // events
	sent  map[mailbox.ID]bool
	turns map[mailbox.AgentID]int // that have ended
}

func newSlowViewer(t *testing.T, sub *event.Subscription) *slowViewer {
	return &slowViewer{t: t, sub: sub, sent: map[mailbox.ID]bool{}, turns: map[mailbox.AgentID]int{}}
}

// look reads one event a second until stop is closed.
func (v *slowViewer) look(stop <-chan struct{}) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-second.C:
			v.next(v.t.Context())
		case <-stop:
			return
		}
	}
}

func (v *slowViewer) next(ctx context.Context) bool {
	e, err := v.sub.Next(ctx)
	if err != nil {
		return false
	}
	v.read++
	switch f := e.Fact.(type) {
	case event.MailSent:
		v.sent[f.Envelope.ID] = true
	case event.TurnEnded:
		v.turns[e.Agent.ID]++
	}
	return true
}

// rest reads events until it has seen so many messages and the end of each turn.
func (v *slowViewer) rest(sent int, turns map[mailbox.AgentID]int) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), time.Minute)
	defer cancel()
	for (len(v.sent) < sent || !maps.Equal(v.turns, turns)) && v.next(ctx) {
	}
	if len(v.sent) != sent || !maps.Equal(v.turns, turns) {
		v.t.Errorf("the viewer was told of %d messages, %d were accepted; of the turns %v, there were %v", len(v.sent), sent, v.turns, turns)
	}
}

func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// rss is the resident size of this process in bytes, 0 if it is unknown.
func rss(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	must(t, err)
	_, rest, _ := bytes.Cut(raw, []byte("VmHWM:"))
	kib, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
	must(t, err)
	return kib << 10
}
