// Package object keeps texts that are too long for a message: one file each,
// named by the hash of what it holds.
//
//	objects := object.New(filepath.Join(sessionDir, "objects"))
//	ref, err := objects.Put(body)   // on disk
//	…                               // record a message that refers to it
//	err = objects.MarkReferenced(ref)
//	body, err = objects.Get(ref)
//
// Laws:
//
//   - What Put has returned is on disk, so that what refers to it may be recorded
//     (TestPutIsDurableAndNamedByWhatItHolds).
//   - Get returns the bytes that were put or an error, never others
//     (TestADamagedObjectIsNotReturned).
//   - A text remains as long as a message in the journal names it, read or not, since
//     a conversation names its file. One that was put and is named by none, as after
//     a crash in between, is collected when the session is opened
//     (TestAnObjectToWhichNothingRefersIsCollected in internal/transcript).
//   - The same text is stored once, and a file that a crash left half written is
//     never taken for an object (TestTheSameTextIsKeptOnce).
//
// The methods of a Store may be called from any goroutine and, on one directory,
// by several processes.
package object
