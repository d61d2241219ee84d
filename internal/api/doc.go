// Package api holds the requests that a running session answers to other processes of
// its user: their names and types, the server, and the connection of a client.
//
//	server, err := api.Open(ctx, conn, api.Parts{Session: s, Agents: s, …}, api.Options{Events: events})
//	…
//	err = server.Close()
//
// In another process:
//
//	c, err := api.Dial(stateDir, info)
//	out, err := rpc.Call(ctx, c.Requests, api.ListAgents, rpc.None{})
//	feed, err := c.Feed(ctx) // every fact from now on
//
// The requests of members are those of package member; they come over the same socket.
// Who may ask what follows from the class of a request. The bytes are recorded in
// testdata/wire of the root package.
//
// Laws:
//
//   - What a command of an agent has started observes and takes part, no more, and a
//     process that cannot be read is taken for such a command
//     (TestAnUnreadableProcessIsNotTheUser).
//   - A feed ends with ErrEnded if the session has announced its end, after all that
//     happened before, and with ErrOwnerGone else (TestAFeedKnowsHowItsSessionEnds).
package api
