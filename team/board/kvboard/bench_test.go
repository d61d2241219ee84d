package kvboard_test

import (
	"slices"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/natsd/natsdtest"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/board/kvboard"
)

// BenchmarkClaim is one claim after the other on a server as a session has it,
// beside one that syncs each change to the list before it answers.
func BenchmarkClaim(b *testing.B) {
	plain := claims(b, natsd.Options{})
	synced := claims(b, natsd.Options{SyncAlways: true})
	var without, with []time.Duration
	for b.Loop() {
		without, with = append(without, plain()), append(with, synced())
	}
	b.ReportMetric(p50(without), "plain-p50-ns")
	b.ReportMetric(p50(with), "synced-p50-ns")
	b.ReportMetric(p50(with)/p50(without), "x-plain")
}

func p50(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2])
}

// claims returns a function that claims a fresh task and returns how long the claim took.
func claims(b *testing.B, o natsd.Options) func() time.Duration {
	b.Helper()
	list, err := board.Open(b.Context(), bucket(b, o), board.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(list.Close)
	by := board.Member{Address: mailbox.Address{Agent: "ann"}, Name: "ann"}
	return func() time.Duration {
		task, err := list.Create(b.Context(), by, board.New{Subject: "s"})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if _, err := list.Claim(b.Context(), by, task.ID); err != nil {
			b.Fatal(err)
		}
		took := time.Since(start)
		if _, err := list.Finish(b.Context(), by, task.ID); err != nil {
			b.Fatal(err)
		}
		return took
	}
}

func bucket(b *testing.B, o natsd.Options) *kvboard.Store {
	b.Helper()
	store, err := kvboard.Open(b.Context(), natsdtest.Embedded(b, o), "B", kvboard.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return store
}
