// Package mcpserve makes a program that speaks the Model Context Protocol a member of a
// session. With the tools send, inbox, tasks and ask it writes messages, reads its mail,
// works on the shared tasks and asks the user.
//
//	m, err := session.Join(ctx, name) // as a program that swarm does not run
//	err = mcpserve.Serve(ctx, m, os.Stdin, os.Stdout, mcpserve.Options{
//		Name: name, Session: id, Version: version,
//	})
//
// Laws:
//
//   - A message counts as read at the program's next call: if the program ends before
//     that, the next one gets the message again (TestMailCountsAsReadAtTheNextCall).
//   - No call waits longer than its wait_seconds, which are bounded: clients cancel a
//     call after a minute (TestWaitsAreBounded).
//
// It is the only package that imports the MCP module.
package mcpserve
