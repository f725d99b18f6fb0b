-- What aeson makes of each string: reads strings from stdin, writes them to stdout as JSON strings.
-- Both sides have frames: a length in bytes (32 bits, big endian), then that many bytes of UTF-8.
module Main (main) where

import qualified Data.Aeson as J
import qualified Data.ByteString.Builder as B
import qualified Data.ByteString.Lazy as L
import qualified Data.Text.Encoding as T
import System.IO (hSetBinaryMode, stdin, stdout)

main :: IO ()
main = do
  hSetBinaryMode stdin True
  hSetBinaryMode stdout True
  L.getContents >>= B.hPutBuilder stdout . mconcat . map (frame . encode) . frames

encode :: L.ByteString -> L.ByteString
encode = J.encode . J.String . T.decodeUtf8 . L.toStrict

frame :: L.ByteString -> B.Builder
frame bytes = B.word32BE (fromIntegral (L.length bytes)) <> B.lazyByteString bytes

frames :: L.ByteString -> [L.ByteString]
frames input
  | L.null input = []
  | otherwise = body : frames rest
  where
    (header, afterHeader) = L.splitAt 4 input
    size = L.foldl' (\n byte -> n * 256 + fromIntegral byte) 0 header
    (body, rest) = L.splitAt size afterHeader
