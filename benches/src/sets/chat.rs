//! A chat in many languages: text whose letters mostly take two to four bytes, and enums that carry data.

use persist::Persist;
use rand::Rng;
use rand_pcg::Lcg64Xsh32;

use super::{pick, seldom};
use crate::data;

/// A whole chat.
#[derive(Clone, Debug, PartialEq, Persist)]
#[rivals::codecs]
pub(crate) struct Chat {
    messages: Vec<Message>,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[rivals::codecs]
struct Message {
    id: u64,
    second: u32,
    author: String,
    content: Content,
    reactions: Vec<(String, u16)>,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[rivals::codecs]
enum Content {
    Joined,
    Left { reason: Option<String> },
    Text(String),
    Reply { to: u64, text: String },
    Picture { caption: String, width: u16, height: u16, preview: Vec<u8> },
    Poll { question: String, choices: Vec<(String, u32)>, anonymous: bool },
    Moved(f32, f32),
}

/// Makes the 5000 messages.
pub(crate) fn generate() -> Chat {
    let mut rng = data::rng();
    Chat { messages: (0..5000).map(|id| message(&mut rng, id)).collect() }
}

fn message(rng: &mut Lcg64Xsh32, id: u64) -> Message {
    let words = pick(rng, &LANGUAGES);
    let content = match rng.gen_range(0..16_u8) {
        0 => Content::Joined,
        1 => Content::Left { reason: seldom(rng, 2, |rng| text(rng, words, 3)) },
        2..=8 => Content::Text(text(rng, words, 24)),
        9..=11 => Content::Reply { to: rng.gen_range(0..=id), text: text(rng, words, 16) },
        12 | 13 => Content::Picture {
            caption: text(rng, words, 6),
            width: rng.gen_range(64..4096),
            height: rng.gen_range(64..4096),
            preview: (0..rng.gen_range(16..96)).map(|_| rng.r#gen()).collect(),
        },
        14 => Content::Poll {
            question: text(rng, words, 10),
            choices: (0..4).map(|_| (text(rng, words, 3), rng.gen_range(0..200))).collect(),
            anonymous: rng.r#gen(),
        },
        _ => Content::Moved(rng.r#gen(), rng.r#gen()),
    };
    let reactions = (0..rng.gen_range(0..3_u8))
        .map(|_| (pick(rng, &REACTIONS).to_owned(), rng.gen_range(1..40)))
        .collect();
    let author = pick(rng, words).to_owned();
    Message {
        id,
        second: 1_700_000_000 + u32::try_from(id).unwrap_or(0) * 7,
        author,
        content,
        reactions,
    }
}

fn text(rng: &mut Lcg64Xsh32, words: &[&str], most: usize) -> String {
    let words: Vec<_> = (0..rng.gen_range(1..=most)).map(|_| pick(rng, words)).collect();
    words.join(" ")
}

const REACTIONS: [&str; 6] = ["👍", "❤️", "😂", "🎉", "🤔", "👨‍👩‍👧"];

const LANGUAGES: [&[&str]; 8] = [
    &["世界", "你好", "我们", "明天", "地图", "宝剑", "城堡", "去", "在", "不是", "朋友们", "游戏"],
    &["こんにちは", "城", "剣", "ありがとう", "冒険", "行く", "の", "は", "ドラゴン", "宝箱"],
    &["안녕하세요", "성", "검", "모험", "우리", "내일", "지도", "친구", "게임", "가자"],
    &["привет", "замок", "меч", "завтра", "карта", "друзья", "игра", "пойдём", "в", "и", "дракон"],
    &["مرحبا", "قلعة", "سيف", "غدا", "خريطة", "أصدقاء", "لعبة", "نذهب", "إلى", "تنين"],
    &["नमस्ते", "किला", "तलवार", "कल", "नक्शा", "दोस्त", "खेल", "चलो", "में", "और"],
    &["γεια", "κάστρο", "σπαθί", "αύριο", "χάρτης", "φίλοι", "παιχνίδι", "πάμε", "στο", "και"],
    &[
        "grüß",
        "Schloß",
        "Schwert",
        "übermorgen",
        "für",
        "Höhle",
        "Żółw",
        "déjà",
        "señor",
        "ångström",
    ],
];
