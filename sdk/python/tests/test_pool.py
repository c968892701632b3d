import threading

from mcpedge.capability.pool import Pool


def test_threads_are_made_when_they_are_needed_and_no_more() -> None:
    before = set(threading.enumerate())
    pool = Pool(3)
    together, go = threading.Barrier(3), threading.Event()

    def wait() -> str:
        together.wait(20)
        go.wait(20)
        return threading.current_thread().name

    def made() -> int:
        return len(set(threading.enumerate()) - before)

    waiting = [pool.submit(wait) for _ in range(3)]
    fourth = pool.submit(lambda: "later")
    assert made() == 3 and not fourth.done(), "three run together, and the fourth waits for a thread"
    go.set()
    assert {f.result(20) for f in waiting} == {"handler"} and fourth.result(20) == "later"
    assert [pool.submit(lambda n=n: n).result(20) for n in range(9)] == list(range(9)) and made() == 3
    assert all(t.daemon for t in set(threading.enumerate()) - before)


def test_what_a_function_raises_is_its_futures() -> None:
    pool = Pool(1)

    def fail() -> None:
        raise KeyError("x")

    assert isinstance(pool.submit(fail).exception(20), KeyError)
    assert pool.submit(lambda: 1).result(20) == 1
