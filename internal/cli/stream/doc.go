// Package stream writes a run for programs: as one JSON object for each step
// (stream-json), or as one object at its end (json). The shapes are those of the claude
// command.
//
//	w := stream.New(os.Stdout, stream.Options{Session: id, Setup: setup})
//	shown := view.Follow(ctx, session.Events(), w.See)
//	// … the session runs and is closed …
//	<-shown
//	err := w.Finish(view.Verdict{Result: result})
//
// Laws:
//
//   - The first line is system/init, the last the result, and each has an id of its own
//     (TestStreamShapes, TestStreamOfARealRun).
//   - The result contains how the run ended, and what an interrupt has cut off
//     (TestResultShapes, TestAnInterruptSaysWhatItHasCut).
//   - After a failed write nothing more is written, and the caller is notified once
//     (TestOutputThatCannotBeWrittenIsAnError).
package stream
