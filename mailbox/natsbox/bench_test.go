package natsbox_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/natsbox"
	"github.com/nats-io/nats.go/jetstream"
)

var body256 = strings.Repeat("x", 256)

// disk is the recorder of a node with a real journal; the ledgers' lock is its.
type disk struct {
	journal *journal.Journal
	courier *mailbox.Courier

	mu      sync.Mutex
	ledgers map[mailbox.AgentID]*mailbox.Ledger
	settled *sync.Cond
}

// newDisk starts a node with these agents over its own journal and server.
func newDisk(b *testing.B, wake func(mailbox.AgentID), agents ...mailbox.AgentID) *disk {
	b.Helper()
	dir := b.TempDir()
	j, err := journal.Open(filepath.Join(dir, "journal"), journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s, err := natsd.Start(b.Context(), natsd.Options{StoreDir: filepath.Join(dir, "jetstream")})
	if err != nil {
		b.Fatal(err)
	}
	nc, err := s.Conn("bench")
	if err != nil {
		b.Fatal(err)
	}
	d := &disk{journal: j, ledgers: make(map[mailbox.AgentID]*mailbox.Ledger)}
	d.settled = sync.NewCond(&d.mu)
	for _, a := range agents {
		d.ledgers[a] = mailbox.NewLedger(a)
		d.ledgers[a].SetUnreadLimit(1 << 30)
	}
	d.courier = mailbox.NewCourier(natsbox.New(nc, natsbox.Options{Space: "bench", Sole: true}), d, mailbox.CourierOptions{Wake: wake})
	if err := d.courier.Start(b.Context(), mailbox.Cursor{}, nil); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(d.courier.Stop(), j.Close(), s.Stop()); err != nil {
			b.Error(err)
		}
	})
	return d
}

func (d *disk) Arrive(e mailbox.Envelope, c mailbox.Cursor) (mailbox.Arrival, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.ledgers[e.To.Agent]
	a := mailbox.Arrival{Verdict: l.Check(e)}
	if a.Verdict == mailbox.Fresh {
		a.Durable = d.journal.Append(string(e.To.Agent), 2, e.AppendBinary(nil)).Wait
		l.Arrived(e, c)
		l.Read(e.ID)
	}
	a.Through = l.Mark(e.From.Agent)
	return a, nil
}

func (d *disk) Acknowledge(r mailbox.Receipt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ledgers[r.To.Agent].Acknowledged(r)) > 0 {
		d.journal.Append(string(r.To.Agent), 4, r.AppendBinary(nil))
	}
	d.settled.Broadcast()
}

// accept returns when the message is on disk; it waits while too much is unacknowledged.
func (d *disk) accept(from, to mailbox.AgentID) error {
	d.mu.Lock()
	e, err := d.compose(from, to)
	for full := (*mailbox.FullError)(nil); errors.As(err, &full); e, err = d.compose(from, to) {
		d.settled.Wait()
	}
	if err != nil {
		d.mu.Unlock()
		return err
	}
	ticket := d.journal.Append(string(from), 1, e.AppendBinary(nil))
	d.ledgers[from].Sent(e)
	d.mu.Unlock()
	if err := ticket.Wait(); err != nil {
		return err
	}
	d.courier.Send(e)
	return nil
}

func (d *disk) compose(from, to mailbox.AgentID) (mailbox.Envelope, error) {
	return d.ledgers[from].Compose(mailbox.Envelope{
		From: mailbox.Address{Agent: from}, To: mailbox.Address{Agent: to},
		Kind: mailbox.KindText, Sent: time.Now(), Body: body256,
	}, 0)
}

func p50(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2])
}

// BenchmarkAcceptToRecorded is one message at a time: on the sender's disk, over
// JetStream, on the receiver's disk.
func BenchmarkAcceptToRecorded(b *testing.B) {
	woken := make(chan struct{}, 1)
	d := newDisk(b, func(mailbox.AgentID) { woken <- struct{}{} }, "a", "b")
	var accepted, recorded []time.Duration
	for b.Loop() {
		start := time.Now()
		if err := d.accept("a", "b"); err != nil {
			b.Fatal(err)
		}
		accepted = append(accepted, time.Since(start))
		<-woken
		recorded = append(recorded, time.Since(start))
	}
	b.ReportMetric(p50(accepted), "accept-p50-ns")
	b.ReportMetric(p50(recorded), "recorded-p50-ns")
}

// together lets 100 senders do n things in all and returns the time of each.
func together(b *testing.B, n int, do func(sender int) error) (each []time.Duration, all time.Duration) {
	b.Helper()
	const senders = 100
	times := make([][]time.Duration, senders)
	var wait sync.WaitGroup
	start := time.Now()
	for s := range senders {
		wait.Go(func() {
			for range n/senders + 1 {
				begin := time.Now()
				if err := do(s); err != nil {
					b.Error(err)
					return
				}
				times[s] = append(times[s], time.Since(begin))
			}
		})
	}
	wait.Wait()
	return slices.Concat(times...), time.Since(start)
}

// BenchmarkAccept100Senders compares accepting through the journal, with
// everything recorded by the receivers in the same run, with a JetStream that
// syncs every message. x-syncalways is how many times more are accepted in the
// same time.
func BenchmarkAccept100Senders(b *testing.B) {
	var names []mailbox.AgentID
	for i := range 200 {
		names = append(names, mailbox.AgentID(fmt.Sprintf("agent-%d", i)))
	}
	d := newDisk(b, nil, names...)
	publish := syncAlways(b)
	b.ResetTimer()
	ours, ourTime := together(b, b.N, func(s int) error { return d.accept(names[s], names[s+100]) })
	b.StopTimer()
	n := min(b.N, 5000)
	theirs, theirTime := together(b, n, func(int) error { return publish(b.Context()) })
	ourRate := float64(len(ours)) / ourTime.Seconds()
	theirRate := float64(len(theirs)) / theirTime.Seconds()
	b.ReportMetric(p50(ours), "accept-p50-ns")
	b.ReportMetric(ourRate, "msg/s")
	b.ReportMetric(ourRate/theirRate, "x-syncalways")
	b.ReportMetric(p50(theirs)/p50(ours), "x-syncalways-p50")
}

func syncAlways(b *testing.B) func(context.Context) error {
	b.Helper()
	s, err := natsd.Start(b.Context(), natsd.Options{StoreDir: b.TempDir(), SyncAlways: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Stop(); err != nil {
			b.Error(err)
		}
	})
	nc, err := s.Conn("bench")
	if err != nil {
		b.Fatal(err)
	}
	js := jet(b, nc)
	if _, err := js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
		b.Fatal(err)
	}
	return func(ctx context.Context) error {
		_, err := js.Publish(ctx, "s.a", []byte(body256))
		return err
	}
}
