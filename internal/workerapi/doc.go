// Package workerapi is what the owner of a session and the process of one of its
// agents, a worker, ask of each other: the requests, their inputs and outputs, and the
// subjects that they go to.
//
//	// in the worker
//	owner := rpc.NewClient(conn, workerapi.OwnerSubject(session).From(agent), rpc.ClientOptions{Errors: workerapi.WorkerErrors()})
//	welcome, err := rpc.Call(ctx, owner, workerapi.UpReport, report)
//
//	// in the owner
//	rpc.Handle(server, workerapi.UpReport, handleReport)
//
// Methods that begin with Up go to the owner, in the name of the worker's agent; those
// that begin with Do go to the worker. Their JSON is what processes of older builds
// speak, so names of fields do not change.
package workerapi

import (
	"errors"
	"time"
)

const (
	// Beat is how long a worker waits from one report to the next, at the latest.
	ReportInterval = 2 * time.Second
	// AnswerWithin is how long either side waits for an answer of the other.
	RequestTimeout = 3 * time.Second
)

// ErrNoAnswer is what a request to answer a question gets that holds no answer.
var ErrNoAnswer = errors.New("the request holds no answer")
