package swarm_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/nats-io/nats.go/jetstream"
)

// BenchmarkDurableAccept100Senders lets 100 agents accept messages side by side,
// each on disk before it counts, and 100 publishers do the same with a JetStream
// that syncs always, in turns. Limits: 12 times the rate, p50 2 ms.
func BenchmarkDurableAccept100Senders(b *testing.B) {
	const senders = 100
	publish := syncAlways(b)
	var ratios, p50s []float64
	for b.Loop() {
		accept := acceptors(b, senders)
		theirs, _ := together(b, senders, 10, publish)
		ours, each := together(b, senders, 200, accept)
		ratios = append(ratios, ours/theirs)
		slices.Sort(each)
		p50s = append(p50s, each[len(each)/2].Seconds()*1000)
	}
	b.ReportMetric(median(ratios), "x-syncalways")
	b.ReportMetric(median(ratios)/12, "x-12-limit(more-is-better)")
	b.ReportMetric(median(p50s), "p50-ms")
	b.ReportMetric(median(p50s)/2, "x-2ms-limit")
}

// acceptors returns the accept of agents over one fresh journal. Nobody
// delivers, so each may accept as many as its outbox holds.
func acceptors(b *testing.B, n int) func(sender int) error {
	b.Helper()
	store, err := transcript.Open(b.Context(), b.TempDir(), "bench", transcript.Options{NoLines: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	all := make([]*transcript.Transcript, n)
	for i := range all {
		if all[i], _, err = store.Create(agent.Spec{ID: mailbox.AgentID(fmt.Sprint("sender", i)), Born: time.Now()}); err != nil {
			b.Fatal(err)
		}
	}
	body := strings.Repeat("x", 256)
	return func(sender int) error {
		_, durable, err := all[sender].Send(mailbox.Envelope{To: mailbox.Address{Agent: "peer"}, Kind: mailbox.KindText, Body: body})
		if err != nil {
			return err
		}
		return durable()
	}
}

// syncAlways returns a publish to a file stream whose every ack is on disk.
func syncAlways(b *testing.B) func(sender int) error {
	b.Helper()
	server, err := natsd.Start(b.Context(), natsd.Options{StoreDir: filepath.Join(b.TempDir(), "js"), SyncAlways: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	})
	conn, err := server.Conn("bench")
	if err != nil {
		b.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "B", Subjects: []string{"b.*"}}); err != nil {
		b.Fatal(err)
	}
	body := []byte(strings.Repeat("x", 256))
	return func(sender int) error {
		_, err := js.Publish(b.Context(), fmt.Sprint("b.", sender), body)
		return err
	}
}

// together lets n senders do something count times each and returns the rate
// of all and the time of each.
func together(b *testing.B, n, count int, do func(sender int) error) (perSecond float64, each []time.Duration) {
	b.Helper()
	times := make([][]time.Duration, n)
	var all sync.WaitGroup
	begun := time.Now()
	for i := range n {
		all.Go(func() {
			for range count {
				at := time.Now()
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
				times[i] = append(times[i], time.Since(at))
			}
		})
	}
	all.Wait()
	return float64(n*count) / time.Since(begun).Seconds(), slices.Concat(times...)
}
