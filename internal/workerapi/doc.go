// Package workerapi defines the requests between the owner of a session and its workers,
// each of which is the process of one agent: the methods, their inputs and outputs, and
// the subjects they are sent to.
//
//	// in the worker
//	owner := rpc.NewClient(conn, workerapi.OwnerSubject(session).From(agent), rpc.ClientOptions{Errors: workerapi.WorkerErrors()})
//	welcome, err := rpc.Call(ctx, owner, workerapi.UpReport, report)
//
//	// in the owner
//	rpc.Handle(server, workerapi.UpReport, handleReport)
//
// Methods that begin with Up go to the owner, in the name of the worker's agent; those
// that begin with Do go to the worker. Older builds use the same JSON, so names of
// methods and fields on the wire do not change.
//
// Law:
//
//   - The bytes of each request are those that were recorded (TestTheWireOfWorkersStays).
package workerapi

import (
	"errors"
	"time"
)

const (
	// ReportInterval is the longest time between two reports of a worker.
	ReportInterval = 2 * time.Second
	// RequestTimeout is how long either side waits for the other's reply.
	RequestTimeout = 3 * time.Second
)

// ErrNoAnswer reports a request to answer a question that contains no answer.
var ErrNoAnswer = errors.New("the request holds no answer")
