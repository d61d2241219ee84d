// Package mailboxtest holds what tests of mail need: Run, the suite that every
// mailbox.Transport passes; Store and Node, a recorder in memory that can crash;
// Faulty, a transport that loses, duplicates and reorders; Simulate, which runs a few
// nodes with random faults in virtual time; and Verify, which compares what was sent
// with what was recorded.
//
//	mailboxtest.Run(t, func(t *testing.T) mailboxtest.Harness {
//		wire := newWire(t)
//		return mailboxtest.Harness{Join: wire.join}
//	})
package mailboxtest
