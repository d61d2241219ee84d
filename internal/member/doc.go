// Package member lets programs that swarm does not run take part in a session: each has
// a name and a mailbox, exchanges messages with agents, works on the shared tasks, and
// can ask the user.
//
//	members := member.New(ctx, member.Options{Session: id, Agents: agents, Roster: roster, Store: store, Boards: boards, TaskList: list})
//	m, err := members.Join("reviewer")
//	sent, err := m.Send(mailbox.Message{To: "lead", Text: "a.go is done"})
//	mail, err := m.Inbox(ctx, 10)
//
// Programs of the user send their requests through the session's socket (Service.Serve
// and [Client]). Programs with a key send them over NATS to a [Gateway]; docs/bus.md is
// the contract with them. Both have the methods of [Member].
//
// Laws:
//
//   - A message is unread until the program acknowledges it: if the program ends before
//     that, it gets the message again (TestMailIsUnreadUntilTheProgramHasIt).
//   - A program that joins under a name replaces the earlier one, whose requests are
//     refused (TestTheNewestProgramHasTheName).
//   - A name that has a key belongs to it, and a process that is not known to be the user's
//     has no other way in (TestANameWithAKeyNeedsItsProof).
//   - A program with a key acts only in its own name and sends only texts; everything
//     else is refused and audited (TestAProgramWithAKeySpeaksForItself).
//   - Socket and NATS have the same requests (TestBothWaysKnowTheSameRequests).
package member
