// Package member lets programs take part in a session that it does not run: each has
// a name and a mailbox, writes to agents and is written to, works on the shared tasks,
// and can ask the user.
//
//	members := member.New(ctx, member.Options{Session: id, Agents: agents, Roster: roster, Store: store, Boards: boards, TaskList: list})
//	m, err := members.Join("reviewer")
//	sent, err := m.Send(mailbox.Message{To: "lead", Text: "a.go is done"})
//	mail, err := m.Inbox(ctx, 10)
//
// Programs of the user ask through the session's socket (Service.Serve and [Client]).
// Programs with a key ask over NATS, where a [Gateway] answers: docs/bus.md is the
// contract with them. Both do what the methods of [Member] do.
//
// Laws:
//
//   - A message is unread until the program says that it has it: one that dies before
//     is given it again (TestMailIsUnreadUntilTheProgramHasIt).
//   - A program that joins under a name takes the place of the one before, whose
//     requests are refused (TestTheNewestProgramHasTheName).
//   - A program with a key speaks in its own name alone, and sends texts alone; what it
//     tries besides is refused and audited (TestAProgramWithAKeySpeaksForItself).
//   - Both ways to ask know the same requests (TestBothWaysKnowTheSameRequests).
package member
