package mailbox_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/actorswarm/swarm/mailbox/mailboxtest"
	"pgregory.net/rapid"
)

func simulate(t *testing.T, p mailboxtest.Plan) (out mailboxtest.Outcome, err error) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out, err = mailboxtest.Simulate(ctx, p)
	})
	return out, err
}

func plan(seed uint64) mailboxtest.Plan {
	return mailboxtest.Plan{
		Seed: seed, Nodes: 3, Agents: 2, Steps: 150,
		Crash: 0.05, Lose: 0.02, UnreadLimit: 40,
		Faults: mailboxtest.Faults{Drop: 0.05, Duplicate: 0.05, Reorder: 0.05, DropReceipt: 0.1, DuplicateReceipt: 0.05},
	}
}

func TestOnceUnderFaultsAndCrashes(t *testing.T) {
	var total mailboxtest.Outcome
	rapid.Check(t, func(rt *rapid.T) {
		p := plan(rapid.Uint64().Draw(rt, "seed"))
		p.Nodes = rapid.IntRange(1, 4).Draw(rt, "nodes")
		p.Agents = rapid.IntRange(1, 3).Draw(rt, "agents")
		p.Crash = rapid.Float64Range(0, 0.15).Draw(rt, "crash")
		p.Lose = rapid.Float64Range(0, 0.1).Draw(rt, "lose")
		p.Faults.Drop = rapid.Float64Range(0, 0.3).Draw(rt, "drop")
		out, err := simulate(t, p)
		if err != nil {
			rt.Fatalf("%+v: %v", out, err)
		}
		total.Sent += out.Sent
		total.Full += out.Full
		total.Faults += out.Faults
		total.Crashes += out.Crashes
		total.Dropped += out.Dropped
		total.Lost += out.Lost
	})
	if total.Sent == 0 || total.Full == 0 || total.Faults == 0 || total.Crashes == 0 || total.Dropped == 0 || total.Lost == 0 {
		t.Errorf("something this test is about never happened: %+v", total)
	}
	t.Logf("%+v", total)
}

// The checker must notice a broken protocol, or a clean run means nothing.
func TestVerifyCatchesABrokenRecorder(t *testing.T) {
	for name, m := range map[string]mailboxtest.Mutation{
		"ack before record": mailboxtest.AckBeforeRecord,
		"no sequence check": mailboxtest.NoSequenceCheck,
		"marks forgotten":   mailboxtest.ForgetMarks,
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				p := plan(seed)
				p.Mutation = m
				if _, err := simulate(t, p); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Error("20 lives with a broken recorder looked clean")
		})
	}
}
