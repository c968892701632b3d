// Package budget admits what holds memory against one number of bytes for the whole process, so that bounds
// which hold for each caller, session or call do not multiply to more than the machine has.
//
// A Holder stands for whoever is to be charged: a principal, or else a network address. A Reservation is what
// one piece of work holds on a holder's behalf; it grows, shrinks and is released. The budget counts both, without
// a lock that all requests share.
//
// The policy. Up to nine tenths of the limit everything is admitted. Beyond that the budget is full: a holder is
// admitted only while what it then holds is at most an equal share, which is nine tenths of the limit divided by the
// number of holders that hold anything. So the last tenth is for those who hold little, newcomers among them, and
// whoever has filled the rest gets no more of it. Beyond the limit nothing is admitted. What was admitted is never
// taken back.
//
// What is in memory already is forced: counted, whether there is room or not. It counts against its holder and fills
// the nine tenths. What those have no room for is counted beside the limit, so that it takes nothing of the last tenth:
// however much one holder was forced to, newcomers find the tenth as it was.
//
// A nil *Budget, a nil *Holder and a nil or zero *Reservation admit everything and count nothing.
package budget
