package journal_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// entry is one record the machine appended.
type entry struct {
	stream, text string
	ticket       journal.Ticket
	told         bool // before the last restart
}

// machine drives a journal and a model of it. The owner keeps each stream's
// texts; a snapshot is all of them.
type machine struct {
	d     *journaltest.Disk
	j     *journal.Journal
	log   []entry
	next  int
	seen  *sights
	opt   journal.Options
	lives int
}

// sights counts what must have happened for the test to mean something.
type sights struct {
	lossy, failedSyncs, failedWrites, torn, cutCheckpoints, unacked int
}

var streams = []string{"a", "b", "a longer name", ""}

func (m *machine) append(rt *rapid.T) journal.Ticket {
	stream := rapid.SampledFrom(streams).Draw(rt, "stream")
	m.next++
	text := fmt.Sprintf("%d %s", m.next, strings.Repeat("x", rapid.IntRange(0, 700).Draw(rt, "size")))
	ticket := m.j.Append(stream, 1, []byte(text))
	if ticket.Seq() != 0 {
		m.log = append(m.log, entry{stream: stream, text: text, ticket: ticket})
	}
	return ticket
}

func (m *machine) commit(rt *rapid.T) {
	if err := m.append(rt).Wait(); err != nil && !errors.Is(err, journal.ErrFailed) {
		rt.Fatal(err)
	}
}

func (m *machine) sync(rt *rapid.T) {
	if err := m.j.Sync(); err != nil {
		return
	}
	for _, e := range m.log {
		if !e.told && e.ticket.Err() != nil {
			rt.Fatalf("Sync said all is well, but %q failed: %v", e.text, e.ticket.Err())
		}
	}
}

// checkpoint takes one, which a crash or the owner may cut short.
func (m *machine) checkpoint(rt *rapid.T) {
	stop := rapid.SampledFrom([]string{"no", "no", "error", "crash"}).Draw(rt, "stop")
	err := m.j.Checkpoint(func(snap func(string, []byte)) error {
		for i, s := range streams {
			for range rapid.IntRange(0, 2).Draw(rt, "between") {
				m.append(rt)
			}
			if i == len(streams)/2 && stop == "error" {
				m.seen.cutCheckpoints++
				return errors.New("cut short")
			}
			if i == len(streams)/2 && stop == "crash" {
				m.seen.cutCheckpoints++
				m.lose(rt)
				return nil
			}
			snap(s, []byte(strings.Join(m.state()[s], "\n")))
		}
		return nil
	})
	if stop != "no" && err == nil {
		rt.Fatalf("a checkpoint cut short by %s is reported complete", stop)
	}
	if stop == "crash" {
		m.restart(rt)
	}
}

// state folds the model's log.
func (m *machine) state() map[string][]string {
	out := map[string][]string{}
	for _, e := range m.log {
		out[e.stream] = append(out[e.stream], e.text)
	}
	return out
}

func (m *machine) lose(rt *rapid.T) {
	loss := rapid.SampledFrom([]journaltest.Loss{
		journaltest.LoseNothing, journaltest.LoseUnsynced, journaltest.LoseSuffix, journaltest.LoseSome, journaltest.LoseSome,
	}).Draw(rt, "loss")
	m.d.Crash(loss, rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)))
}

func (m *machine) crash(rt *rapid.T) {
	m.lose(rt)
	m.restart(rt)
}

func (m *machine) close(rt *rapid.T) {
	m.restart(rt)
}

func (m *machine) failSync(rt *rapid.T)  { m.d.FailSync(rapid.IntRange(1, 4).Draw(rt, "n")) }
func (m *machine) failWrite(rt *rapid.T) { m.d.FailWrite(rapid.IntRange(1, 3).Draw(rt, "n")) }

// restart closes what is left of the journal, opens it again and compares.
func (m *machine) restart(rt *rapid.T) {
	closeErr := m.j.Close() // a dead or failed journal may answer anything
	told := 0
	for i := range m.log {
		m.log[i].told = m.log[i].told || m.log[i].ticket.Wait() == nil
		if m.log[i].told {
			told = i + 1
		}
	}
	if closeErr == nil && told < len(m.log) {
		rt.Fatalf("Close said all is well, but %q failed", m.log[told].text)
	}
	m.open(rt)
	m.compare(rt, told)
}

// open tries again when an armed fault meets the opening.
func (m *machine) open(rt *rapid.T) {
	for range 10 {
		j, err := journal.Open(dir, m.opt)
		if err == nil {
			m.j = j
			m.lives++
			return
		}
	}
	rt.Fatal("Open never succeeds")
}

// compare holds the promises: the records are the first of those appended, with
// all acknowledged ones among them, and Live rebuilds their fold.
func (m *machine) compare(rt *rapid.T, told int) {
	r := m.j.Report()
	if len(r.Damage) > 0 || r.Skipped > 0 {
		rt.Fatalf("crashes are no damage: %v", r)
	}
	if r.Torn != nil {
		m.seen.torn++
	}
	found := m.histories(rt)
	if len(found) < told || len(found) > len(m.log) {
		rt.Fatalf("%d records found of %d appended, %d acknowledged", len(found), len(m.log), told)
	}
	if len(found) < len(m.log) {
		m.seen.unacked++
	}
	m.log = m.log[:len(found)]
	for i, e := range m.log {
		if got, want := found[i].Stream+":"+string(found[i].Data), e.stream+":"+e.text; got != want {
			rt.Fatalf("record %d is %.20q, want %.20q", i, got, want)
		}
		m.log[i].told = true // Live shows it: it must stay
	}
	if diff := cmp.Diff(m.state(), m.fold(rt)); diff != "" {
		rt.Fatalf("Live folds to something else (-want +got):\n%s", diff)
	}
}

func (m *machine) histories(rt *rapid.T) []journal.Record {
	var all []journal.Record
	for _, s := range streams {
		for r, err := range m.j.History(s) {
			if err != nil {
				rt.Fatal(err)
			}
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b journal.Record) int { return int(int64(a.Seq) - int64(b.Seq)) })
	return all
}

func (m *machine) fold(rt *rapid.T) map[string][]string {
	out, last := map[string][]string{}, uint64(0)
	err := m.j.Live(func(r journal.Record) error {
		if r.Seq <= last {
			return fmt.Errorf("record %d after %d", r.Seq, last)
		}
		last = r.Seq
		switch {
		case r.Snapshot && len(r.Data) == 0:
			delete(out, r.Stream)
		case r.Snapshot:
			out[r.Stream] = strings.Split(string(r.Data), "\n")
		default:
			out[r.Stream] = append(out[r.Stream], string(r.Data))
		}
		return nil
	})
	if err != nil {
		rt.Fatal(err)
	}
	return out
}

func TestJournalKeepsItsPromisesThroughFaults(t *testing.T) {
	seen := &sights{}
	rapid.Check(t, func(rt *rapid.T) {
		d := journaltest.New()
		m := &machine{d: d, seen: seen}
		m.opt = journal.Options{FS: d, SegmentBytes: rapid.Int64Range(100, 5000).Draw(rt, "segment")}
		m.open(rt)
		defer func() { m.j.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"append":     func(rt *rapid.T) { m.append(rt) },
			"commit":     m.commit,
			"sync":       m.sync,
			"checkpoint": m.checkpoint,
			"crash":      m.crash,
			"close":      m.close,
			"failSync":   m.failSync,
			"failWrite":  m.failWrite,
		})
		m.crash(rt)
		c := d.Counts()
		seen.lossy += c.LossyCrashes
		seen.failedSyncs += c.FailedSyncs
		seen.failedWrites += c.FailedWrites
	})
	if seen.lossy == 0 || seen.failedSyncs == 0 || seen.failedWrites == 0 || seen.torn == 0 ||
		seen.cutCheckpoints == 0 || seen.unacked == 0 {
		t.Errorf("some fault never happened: %+v", *seen)
	}
}
