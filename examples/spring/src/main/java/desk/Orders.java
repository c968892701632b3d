package desk;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.stereotype.Service;

/** The orders of this process. */
@Service
public class Orders {
  private final AtomicInteger last = new AtomicInteger();
  private final Map<String, Integer> numbers = new ConcurrentHashMap<>();

  /** Places an order, and returns its number: the same one for the same key, however often it is placed. */
  public int place(String key, String tea, int cups) {
    return numbers.computeIfAbsent(key, k -> last.incrementAndGet());
  }
}
