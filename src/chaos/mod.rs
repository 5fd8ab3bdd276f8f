//! What can go wrong in what an agent receives: faults that are made on purpose, drawn from a seed, told apart by name. No socket here;
//! the proxy makes them.
