// pcodec TYPE IN OUT: one array by pcodec's standalone format at its highest level. Exit code 0 when it comes back.
// Built by hand with the crate pco (README.md).
use pco::data_types::Number;
use pco::standalone::{simple_compress, simple_decompress};
use pco::ChunkConfig;

const LEVEL: usize = 12;

fn run<T: Number>(bytes: &[u8]) -> Option<Vec<u8>> {
    let n = bytes.len() / std::mem::size_of::<T>();
    let mut values: Vec<T> = Vec::with_capacity(n);
    // any bits are a number
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), values.as_mut_ptr() as *mut u8, bytes.len());
        values.set_len(n);
    }
    let config = ChunkConfig::default().with_compression_level(LEVEL);
    let coded = simple_compress(&values, &config).ok()?;
    let back: Vec<T> = simple_decompress(&coded).ok()?;
    let same = unsafe { std::slice::from_raw_parts(back.as_ptr() as *const u8, back.len() * std::mem::size_of::<T>()) };
    (same == bytes).then_some(coded)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&args[2]).unwrap();
    let coded = match args[1].as_str() {
        "f32" => run::<f32>(&bytes),
        "f64" => run::<f64>(&bytes),
        "i16" => run::<i16>(&bytes),
        "i32" => run::<i32>(&bytes),
        "i64" => run::<i64>(&bytes),
        "u16" => run::<u16>(&bytes),
        "u32" => run::<u32>(&bytes),
        "u64" => run::<u64>(&bytes),
        _ => None,
    };
    match coded {
        Some(c) => std::fs::write(&args[3], &c).unwrap(),
        None => std::process::exit(1),
    }
}
