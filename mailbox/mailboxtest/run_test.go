package mailboxtest_test

import (
	"testing"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/mailboxtest"
)

func TestMemoryPassesTheSuite(t *testing.T) {
	mailboxtest.Run(t, func(t *testing.T) mailboxtest.Harness {
		wire := mailbox.NewMemory()
		return mailboxtest.Harness{
			Join:    func(*testing.T) mailbox.Transport { return wire.Join() },
			Regress: func(*testing.T) { wire.Lose(30) },
		}
	})
}
