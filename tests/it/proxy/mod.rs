//! A proxy that looks, holds and mends, as stories: agents on one side, models on the other, and what both of them see.

mod again;
mod binary;
mod chaos;
mod clean;
mod clients;
mod ends;
mod faults;
mod handed;
mod killed;
mod large;
mod operator;
mod places;
mod policies;
mod refusals;
mod requests;
mod results;
mod sockets;
mod speech;
mod stage;
mod stored;
mod table;
mod trusted;
