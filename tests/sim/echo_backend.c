typedef int empty_for_now;
