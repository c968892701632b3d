// Package budget limits memory by one number of bytes for the whole process, so that the bounds of
// each caller, session and call do not add up to more than the machine has.
//
// A Holder is charged for memory: it stands for a principal, or else for a network address. A
// Reservation is the memory of one piece of work, charged to a holder; it grows, shrinks and is
// released. The budget counts both, without a lock that all requests share.
//
// The policy: up to nine tenths of the limit, every reservation is admitted. Beyond that the budget
// is full, and a holder is admitted only while it holds at most an equal share, which is nine
// tenths of the limit divided by the number of holders with reservations. So the last tenth is for
// holders with little memory, such as new ones, and the holders that filled the rest get no more.
// Beyond the limit nothing is admitted. Admitted memory is never revoked.
//
// Memory that is in use already is forced: it is counted whether or not there is room. It counts
// against its holder and towards the nine tenths. Forced bytes that exceed the nine tenths are
// counted beside the limit, so that they take nothing of the last tenth: new holders find it
// unchanged.
//
// A nil *Budget, a nil *Holder and a nil or zero *Reservation admit everything and count nothing.
package budget
