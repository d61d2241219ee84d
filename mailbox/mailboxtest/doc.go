// Package mailboxtest holds what tests of mail need: Run, the suite that every
// mailbox.Transport passes; Store and Node, a durable side in memory that can
// crash; Faulty, a transport that loses, doubles and reorders; Simulate, which
// lives random lives of a few nodes in virtual time; and Verify, which compares
// what was sent with what was recorded.
package mailboxtest
