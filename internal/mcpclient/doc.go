// Package mcpclient connects a session to servers of the Model Context Protocol and offers
// their tools to agents. A server is a program that talks on its standard input and output,
// or one that is reached by streamable HTTP or by SSE.
//
//	servers, problems := mcpclient.Parse(raw, "/srv/shop/.mcp.json", os.Getenv)
//	c := mcpclient.New(ctx, mcpclient.Options{Servers: servers, Dir: dir, Place: place, Getenv: os.Getenv, Warn: warn})
//	c.Start()
//	late := c.Await(ctx, 5*time.Second) // names of servers that have not answered yet
//	for _, t := range c.Tools(nil) {
//		… // t.Spec().Name is mcp__SERVER__TOOL
//	}
//	c.Close()
//
// Laws:
//
//   - A server's tools have names that no other server's have, and what a server says is
//     clean and bounded before a model or a person gets it: names, descriptions, schemas,
//     lists and results (TestWhatAServerSaysIsBounded).
//   - No server delays another, nor Await beyond its bound; one that does not answer is
//     named (TestAServerThatHangsDelaysNobody).
//   - A call ends with its context or its time limit, whatever the server does
//     (TestACallEndsWithItsContext, TestACallEndsWithItsLimit).
//   - A server that has ended is started again by the next call, once, and named with the
//     last line of its standard error; a failure is the result of the call, never an end
//     of the turn (TestAServerThatDiesIsStartedAgainOnce).
//   - What a server prints between its messages is skipped, and one that prints without end
//     is ended (TestNoiseIsSkipped, TestAFloodEndsTheServer).
//   - A changed list of tools is read anew; a list that cannot be read leaves the old one
//     (TestAChangedListIsReadAnew).
//   - Close ends each server with everything that it has started (TestNothingIsLeftOfAServer).
//   - A server gets the variables that other children get, and its own
//     (TestAServerGetsNoKey).
//
// Not promised: sampling, elicitation, prompts and resources, which are not offered to
// servers.
package mcpclient
