// Package rpc lets programs put typed requests to each other over NATS.
//
// A request is a [Method] with the type of what it takes and of what it returns.
// The server has a handler for each, and the client calls it:
//
//	var Greet = rpc.Method[Name, Greeting]{Name: "greet", Class: rpc.Observe}
//
//	server := rpc.NewServer(ctx, rpc.ServerOptions{})
//	rpc.Handle(server, Greet, func(_ context.Context, from rpc.Caller, in Name) (Greeting, error) {
//		return Greeting{Text: "hello " + in.Name}, nil
//	})
//	err := server.Open(conn, "app.{method}") // until server.Close
//
//	client := rpc.NewClient(conn, "app.{method}", rpc.ClientOptions{})
//	out, err := rpc.Call(ctx, client, Greet, Name{"ann"})
//
// On the wire a request is the JSON of its input, and a reply the JSON object of its
// output. A failure adds the field "error" with a text, and, for an error that both
// sides know by their [Errors], what it takes to get the same error at the other end.
// Programs that do not use this package can so ask and answer with any NATS client.
//
// Laws:
//
//   - An output of a handler that fails comes with the error
//     (TestAnErrorComesWithTheOutput).
//   - An error that is known by name, or by its type, is the same error for the
//     caller; every other one is its text (TestKnownErrorsKeepTheirIdentity).
//   - A reply of any length arrives whole, unless the server promises single messages:
//     then one that is too long is an error (TestAReplyMayBeLongerThanAMessage,
//     TestAReplyThatDoesNotFitIsAnError).
//   - A server with a limit of concurrent requests replies that it is
//     busy beyond that, and does not let them wait (TestAServerSaysThatItIsBusy).
//   - A request that is not valid, or for which there is no handler, is an error and
//     reaches no handler (TestARequestMustBeValid).
//   - Close waits for the handlers that run, and nothing is answered after it
//     (TestCloseWaitsForHandlers).
//   - One-way messages of a caller are handled in the order in which they were sent
//     (TestOneWayMessagesKeepTheirOrder).
//   - A caller whom the NATS server does not let ask gets [ErrNotPermitted] at once
//     (TestARefusedRequestDoesNotWait).
//   - What a program may ask follows from the class of a method, and a method for which
//     no class was set is for those who control (TestTheClassSaysWhoMayAsk).
package rpc
